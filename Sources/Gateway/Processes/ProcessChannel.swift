// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// One end of the lines between supervisor and child, on the supervisor's side.
struct ProcessChannel {
    /// -1 when there is none.
    private(set) var descriptor: CInt = -1
    private var partial: [UInt8] = []

    /// No child of ours says more in one line.
    static let lineLimit = 65_536

    init() {}

    init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Sends without waiting; a child that does not read its lines any more is about to be reaped.
    func send(_ message: ProcessMessage) {
        guard descriptor >= 0 else { return }
        let bytes = Array((message.text + "\n").utf8)
        _ = unsafe Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }

    /// The lines that are there.
    mutating func receive() -> [ProcessMessage] {
        guard descriptor >= 0 else { return [] }
        var room = [UInt8](repeating: 0, count: Self.lineLimit)
        while true {
            let count = unsafe recv(descriptor, &room, room.count, CInt(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            partial.append(contentsOf: room[..<count])
            if partial.count > 4 * Self.lineLimit { break }
        }
        return Self.messages(from: &partial)
    }

    mutating func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
        partial = []
    }

    /// Takes whole lines from the front.
    static func messages(from bytes: inout [UInt8]) -> [ProcessMessage] {
        var messages: [ProcessMessage] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: bytes[..<end], as: UTF8.self)
            bytes.removeFirst(end + 1)
            if let message = ProcessMessage(parsing: line) { messages.append(message) }
        }
        return messages
    }
}
