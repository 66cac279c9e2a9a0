// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Transport

/// The stream under a Redis connection: opens it by socket path or name, with TLS where wanted.
///
/// Isolated to the Reactor.
///
/// What a stream says after it was replaced or closed is not passed on.
@Reactor
final class RedisLink: StreamOwner {
    weak var connection: RedisConnection?
    let endpoint: RedisEndpoint
    private let loop: EventLoop
    /// Made with the first TLS connection.
    private var tls: TLSClientContext?
    /// Made with the first name that must be resolved.
    private var resolver: Resolver?
    private let limits: StreamLimits
    private var stream: ByteStream?
    /// Asking for the server's name; ended by `close()`, so that an answer too late opens nothing.
    private var resolution: Task<Void, Never>?
    /// Counts attempts, so that each tries the next of a name's addresses.
    private var attempt = 0

    init(loop: EventLoop, endpoint: RedisEndpoint, deadline: Duration) {
        self.loop = loop
        self.endpoint = endpoint
        let limits = StreamLimits()
        limits.connectDeadline = deadline
        limits.handshakeDeadline = deadline
        // Replies are consumed as they come; a page of records must fit between two reads.
        limits.inboundHighWater = 256 << 10
        self.limits = limits
    }

    func open() {
        attempt += 1
        switch endpoint.address {
        case .unix(let path): connect(to: .unix(path: path), serverName: nil)
        case .tcp(let host, let port, let isTLS):
            let serverName = isTLS ? host : nil
            guard let address = IPAddress(parsing: host) else { return resolve(host, port, serverName) }
            connect(to: .ip(address, port: port), serverName: serverName)
        }
    }

    func close() {
        resolution?.cancel()
        resolution = nil
        stream?.close()
        stream = nil
    }

    /// Appends a command; it leaves when the turn ends.
    func send(_ write: (inout ByteBuffer) -> Void) {
        guard let stream else { return }
        write(&stream.outbound)
        stream.outboundAppended()
    }

    private func connect(to address: SocketAddress, serverName: String?) {
        var tls: TLSClientContext?
        do throws(TLSFailure) {
            if serverName != nil { tls = try tlsContext() }
        } catch {
            connection?.linkClosed(because: "TLS: \(error)")
            return
        }
        let stream = ByteStream(
            loop: loop,
            connectingTo: address,
            tls: tls,
            serverName: serverName ?? "",
            limits: limits
        )
        self.stream = stream
        stream.start(owner: self)
    }

    private func tlsContext() throws(TLSFailure) -> TLSClientContext {
        if let tls { return tls }
        let trust = endpoint.authorities.map { TLSClientSettings.Trust.authorities(pem: $0) } ?? .system
        let made = try TLSClientContext(TLSClientSettings(trust: trust))
        tls = made
        return made
    }

    private func resolve(_ host: String, _ port: UInt16, _ serverName: String?) {
        let resolver = self.resolver ?? Resolver(loop: loop, pool: BlockingPool(threads: 1))
        self.resolver = resolver
        let deadline = limits.connectDeadline
        resolution = Task { [weak self] in
            do throws(ResolutionFailure) {
                let addresses = try await resolver.resolve(host, port: port, deadline: deadline)
                self?.resolved(addresses, serverName)
            } catch {
                if !Task.isCancelled { self?.connection?.linkClosed(because: "\(host): \(error)") }
            }
        }
    }

    private func resolved(_ addresses: [SocketAddress], _ serverName: String?) {
        guard !Task.isCancelled, !addresses.isEmpty else { return }
        connect(to: addresses[attempt % addresses.count], serverName: serverName)
    }

    func streamConnected(_ stream: ByteStream) {
        guard stream === self.stream else { return }
        if case .tcp(_, _, true) = endpoint.address { return }
        connection?.linkOpened()
    }

    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) {
        guard stream === self.stream else { return }
        connection?.linkOpened()
    }

    func streamReceived(_ stream: ByteStream) {
        guard stream === self.stream, let connection else { return }
        connection.linkReceived(&stream.inbound)
        connection.takeReplies()
    }

    func streamEnded(_ stream: ByteStream) {
        guard stream === self.stream else { return }
        connection?.linkClosed(because: "the server closed the connection")
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        guard stream === self.stream else { return }
        connection?.linkClosed(because: failure?.description ?? "closed")
    }
}
