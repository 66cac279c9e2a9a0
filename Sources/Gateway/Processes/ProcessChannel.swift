// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// One end of the packets between supervisor and child.
enum ProcessChannel {
    private static let packetLimit = 65_536

    /// Sends without waiting; a packet that does not fit is lost, and its receiver is dead or about to be.
    static func send(_ message: ProcessMessage, to descriptor: CInt) {
        let bytes = Array(message.text.utf8)
        _ = unsafe Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }

    /// The packets that are there; `isOpen` is false when the other side has gone.
    static func receive(from descriptor: CInt) -> (messages: [ProcessMessage], isOpen: Bool) {
        var messages: [ProcessMessage] = []
        var room = [UInt8](repeating: 0, count: packetLimit)
        while true {
            let count = unsafe recv(descriptor, &room, room.count, CInt(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            if count < 0 { return (messages, errno == EAGAIN) }
            if count == 0 { return (messages, false) }
            let text = String(decoding: room[..<count], as: UTF8.self)
            if let message = ProcessMessage(parsing: text) { messages.append(message) }
        }
    }
}
