// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Crypto
import Encodings
import Gateway
import Transport

/// A small HTTPS server on a loopback port that plays somebody's API: one request a connection.
@Reactor
final class PlayedAPI: ConnectionTaker {
    /// A request as it came.
    struct Request {
        let line: String
        let head: String
        let body: String
    }

    /// What it does with a request.
    enum Reply {
        case answer(String)
        /// Says nothing and keeps the connection.
        case silence
    }

    let certificatePEM: [UInt8]
    private(set) var requests: [Request] = []
    private let loop: EventLoop
    private let tls: TLSServerContext
    private let socket: ListeningSocket
    private let reply: @Reactor (Request, Int) -> Reply
    private var connections: [PlayedConnection] = []

    init(_ loop: EventLoop, name: String = "localhost", reply: @escaping @Reactor (Request, Int) -> Reply) throws {
        let key = try PrivateKey.generate(.p256)
        var request = try CertificateRequest(commonName: name, key: key.publicKey, validity: 0...4_102_444_800)
        let alternative = DERWriter.element(.sequence, DERWriter.element(.implicit(2), Array(name.utf8)))
        request.extensions.append((OID(2, 5, 29, 17), false, alternative))
        certificatePEM = Array(PEMBlock(label: "CERTIFICATE", bytes: try request.signed(by: key)).text.utf8)
        let identity = TLSServerSettings.Identity(
            name: name,
            chainPEM: certificatePEM,
            keyPEM: SecretBytes(Array(try key.pem().utf8).span)
        )
        tls = try TLSServerContext(TLSServerSettings(identities: [identity], defaultIdentity: name))
        guard let address = SocketAddress(parsing: "127.0.0.1:0") else { throw WebFailure.resolution }
        socket = try ListeningSocket(loop: loop, address: address)
        self.loop = loop
        self.reply = reply
        try socket.start(taker: self)
    }

    var port: UInt16 {
        guard case .ip(_, let port) = socket.address else { return 0 }
        return port
    }

    func connectionAccepted(_ connection: AcceptedConnection, on socket: ListeningSocket) {
        let played = PlayedConnection(self)
        connections.append(played)
        ByteStream(loop: loop, accepted: connection, tls: tls).start(owner: played)
    }

    fileprivate func answer(_ request: Request, on stream: ByteStream) {
        requests.append(request)
        guard case .answer(let text) = reply(request, requests.count) else { return }
        let bytes = Array(text.utf8)
        stream.write(bytes.span)
        stream.closeAfterFlush()
    }
}

@Reactor
private final class PlayedConnection: StreamOwner {
    private let api: PlayedAPI
    private var text = ""

    init(_ api: PlayedAPI) {
        self.api = api
    }

    func streamReceived(_ stream: ByteStream) {
        let received = stream.inbound.withBytes { bytes in
            String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
        }
        text += received
        stream.consume(stream.inbound.count)
        guard let end = text.range(of: "\r\n\r\n") else { return }
        let head = String(text[..<end.lowerBound])
        let body = String(text[end.upperBound...])
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).filter { $0 != " " }) }
        guard body.utf8.count >= length ?? 0 else { return }
        api.answer(
            PlayedAPI.Request(line: String(head.split(separator: "\r\n")[0]), head: head, body: body),
            on: stream
        )
    }

    func streamEnded(_ stream: ByteStream) {
        stream.close()
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {}
}

extension String {
    /// The first place of `other`.
    fileprivate func range(of other: String) -> Range<Index>? {
        ranges(of: other).first
    }
}
