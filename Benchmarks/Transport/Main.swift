// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Glibc
import Transport

/// A server for measuring the transport alone: answers each request head with 1 KiB, or proxies to a plain upstream.
///
///     echo-bench ADDRESS [--tls CHAIN KEY] [--upstream ADDRESS]
@main
struct Main {
    static func main() {
        Reactor.installGlobalHook()
        let arguments = Array(CommandLine.arguments.dropFirst())
        signal(SIGPIPE, SIG_IGN)
        Reactor.run { loop in
            do {
                let server = try Server(loop, arguments)
                Server.running = server
            } catch {
                print("cannot start: \(error)")
                exit(1)
            }
        }
    }
}

@Reactor
final class Server: ConnectionTaker {
    static var running: Server?

    let loop: EventLoop
    let socket: ListeningSocket
    var tls: TLSServerContext?
    var upstream: SocketAddress?
    var idleUpstreams: [Upstream] = []

    init(_ loop: EventLoop, _ arguments: [String]) throws {
        self.loop = loop
        guard let text = arguments.first, let address = SocketAddress(parsing: text) else { throw SystemError(EINVAL) }
        if let at = arguments.firstIndex(of: "--tls"), arguments.count > at + 2 {
            let identity = TLSServerSettings.Identity(
                name: "bench",
                chainPEM: try read(arguments[at + 1]),
                keyPEM: try read(arguments[at + 2])
            )
            let keys = TicketKeys.Key(bytes: (0..<80).map { _ in .random(in: 0...255) })
            tls = try TLSServerContext(
                TLSServerSettings(identities: [identity], defaultIdentity: "bench"),
                ticketKeys: keys.map { TicketKeys(current: $0) }
            )
        }
        if let at = arguments.firstIndex(of: "--upstream"), arguments.count > at + 1 {
            upstream = SocketAddress(parsing: arguments[at + 1])
        }
        socket = try ListeningSocket(loop: loop, address: address)
        try socket.start(taker: self)
        print("listening on \(socket.address)")
    }

    func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
        let stream = ByteStream(loop: loop, accepted: connection, tls: tls)
        stream.start(owner: Downstream(self, stream))
    }
}

func read(_ path: String) throws -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY)
    guard descriptor >= 0 else { throw SystemError(errno) }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
}

/// One client; a request ends at an empty line and has no body.
@Reactor
final class Downstream: StreamOwner {
    let server: Server
    let stream: ByteStream
    var upstream: Upstream?

    static let answer: [UInt8] =
        Array("HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n".utf8) + [UInt8](repeating: 0x78, count: 1024)

    init(_ server: Server, _ stream: ByteStream) {
        self.server = server
        self.stream = stream
    }

    func streamReceived(_ stream: ByteStream) {
        while true {
            let length = endOfHead(stream.inbound.bytes)
            guard length > 0 else { return }
            if server.upstream != nil {
                forward(length)
            } else {
                stream.consume(length)
                stream.write(Downstream.answer.span)
            }
        }
    }

    private func forward(_ length: Int) {
        let upstream = server.idleUpstreams.popLast() ?? Upstream(server)
        upstream.downstream = self
        self.upstream = upstream
        stream.move(length, to: upstream.stream)
    }

    private func endOfHead(_ bytes: Span<UInt8>) -> Int {
        var index = 3
        while index < bytes.count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10 { return index + 1 }
            index += 1
        }
        return 0
    }

    func streamEnded(_ stream: ByteStream) { stream.closeAfterFlush() }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) { upstream?.downstream = nil }
}

/// A kept connection to the upstream; an answer is 1 KiB and more of it in one read.
@Reactor
final class Upstream: StreamOwner {
    let server: Server
    let stream: ByteStream
    weak var downstream: Downstream?

    init(_ server: Server) {
        self.server = server
        stream = ByteStream(loop: server.loop, connectingTo: server.upstream ?? .ip(IPAddress(v4: 0), port: 0))
        stream.start(owner: self)
    }

    func streamReceived(_ stream: ByteStream) {
        if let downstream {
            stream.move(stream.inbound.count, to: downstream.stream)
            downstream.upstream = nil
        }
        downstream = nil
        server.idleUpstreams.append(self)
    }

    func streamEnded(_ stream: ByteStream) { stream.close() }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {}
}
