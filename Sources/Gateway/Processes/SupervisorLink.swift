// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc
import Transport

/// What a role says to its supervisor; in a single process there is none, and both ends are local.
@Reactor
protocol SupervisorLink: AnyObject {
    func send(_ message: ProcessMessage)
}

/// The child's end of the lines to the supervisor.
///
/// When the supervisor has gone, so has the child.
@Reactor
final class SupervisorStream: SupervisorLink, StreamOwner {
    private let stream: ByteStream
    private let hear: @Reactor (ProcessMessage) -> Void
    private var partial: [UInt8] = []

    init(loop: EventLoop, descriptor: CInt, hear: @escaping @Reactor (ProcessMessage) -> Void) {
        let connection = AcceptedConnection(descriptor: descriptor, peer: .unix(path: ""))
        self.stream = ByteStream(loop: loop, accepted: connection)
        self.hear = hear
    }

    func start() {
        stream.start(owner: self)
    }

    func send(_ message: ProcessMessage) {
        var line = message.text
        line += "\n"
        stream.write(line.utf8.span)
    }

    func streamReceived(_ stream: ByteStream) {
        let count = stream.inbound.count
        take(stream.inbound)
        stream.consume(count)
        for message in ProcessChannel.messages(from: &partial) { hear(message) }
    }

    private func take(_ buffer: borrowing ByteBuffer) {
        let bytes = buffer.bytes
        for index in bytes.indices { partial.append(bytes[index]) }
    }

    func streamEnded(_ stream: ByteStream) {
        // Killed, since it stops its children before it ends. Nobody would start this process again or tell it to stop.
        exit(0)
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        exit(0)
    }
}
