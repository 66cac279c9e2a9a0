// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
package import Transport

/// Fetches documents from others' APIs over TLS: few requests, one connection each, a deadline over all of it.
///
/// Isolated to the Reactor. Redirects are not followed: an answer that is not the document is no answer.
@Reactor
package final class WebClient {
    private let loop: EventLoop
    private let resolver: Resolver
    private let tls: TLSClientContext
    /// The largest answer that is read: Google's status list takes 200 KiB.
    private let limit: Int
    /// Which addresses are connected to; nil: all.
    private let permitted: OutboundAddresses?

    /// A client that trusts what `tls` trusts.
    package init(
        loop: EventLoop,
        resolver: Resolver,
        tls: TLSClientContext,
        limit: Int = 16 << 20,
        permitted: OutboundAddresses? = nil
    ) {
        self.loop = loop
        self.resolver = resolver
        self.tls = tls
        self.limit = limit
        self.permitted = permitted
    }

    /// The answer to `request`, whatever its status.
    package func answer(to request: WebRequest, within deadline: Duration) async throws(WebFailure) -> WebAnswer {
        let outcome = await loop.value(within: deadline) { [self] in await attempt(request) }
        guard let outcome else { throw .deadlinePassed }
        return try outcome.get()
    }

    private func attempt(_ request: WebRequest) async -> Result<WebAnswer, WebFailure> {
        let addresses: [SocketAddress]
        do {
            addresses = try await resolver.resolve(request.url.host, port: request.url.port)
        } catch {
            return .failure(.resolution)
        }
        var outcome = Result<WebAnswer, WebFailure>.failure(.resolution)
        for address in addresses.prefix(4) {
            if let permitted, let ip = address.ipAddress, !permitted.permits(ip) {
                outcome = .failure(.address(ip.description))
                continue
            }
            let exchange = WebExchange(request, limit: limit)
            let stream = ByteStream(loop: loop, connectingTo: address, tls: tls, serverName: request.url.host)
            outcome = await exchange.run(on: stream)
            // Another address can only help a connection that did not come about.
            guard case .failure(.connection) = outcome, !exchange.wasSent, !Task.isCancelled else { break }
        }
        return outcome
    }
}

/// One request on its connection.
///
/// Isolated to the Reactor; held by the stream until it is closed.
@Reactor
private final class WebExchange: StreamOwner {
    private let request: WebRequest
    private let limit: Int
    private var parser = ResponseParser()
    private var head = ResponseHead()
    private var hasHead = false
    private var reader = BodyReader()
    private var body: [UInt8] = []
    private var isTooLong = false
    private var continuation: CheckedContinuation<Result<WebAnswer, WebFailure>, Never>?
    private(set) var wasSent = false

    init(_ request: WebRequest, limit: Int) {
        self.request = request
        self.limit = limit
    }

    func run(on stream: ByteStream) async -> Result<WebAnswer, WebFailure> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.continuation = continuation
                stream.start(owner: self)
            }
        } onCancel: {
            Task { @Reactor in self.finish(.failure(.deadlinePassed), stream) }
        }
    }

    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) {
        let bytes = request.bytes
        stream.write(bytes.span)
        wasSent = true
    }

    func streamReceived(_ stream: ByteStream) {
        do {
            while try step(stream) {}
        } catch {
            finish(.failure(.answer("\(error)")), stream)
        }
    }

    func streamEnded(_ stream: ByteStream) {
        if hasHead, head.framing == .untilClose {
            finish(.success(answer), stream)
        } else {
            finish(.failure(.answer("cut short")), stream)
        }
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        finish(.failure(.connection(failure.map { "\($0)" } ?? "closed")), stream)
    }

    /// Takes what can be taken; false once more bytes are needed or the answer is whole.
    private func step(_ stream: ByteStream) throws(HTTPViolation) -> Bool {
        guard continuation != nil, !stream.inbound.isEmpty else { return false }
        return hasHead ? try takeBody(stream) : try takeHead(stream)
    }

    private func takeHead(_ stream: ByteStream) throws(HTTPViolation) -> Bool {
        let method: Method = request.body == nil ? .get : .post
        let progress = try stream.inbound.withBytes { bytes throws(HTTPViolation) in
            try parser.parse(bytes, into: &head, answering: method)
        }
        guard case .head(let consumed) = progress else { return false }
        stream.consume(consumed)
        guard !head.isInterim else { return true }
        hasHead = true
        reader.begin(head.framing, ParserLimits())
        if reader.isComplete { finish(.success(answer), stream) }
        return true
    }

    private func takeBody(_ stream: ByteStream) throws(HTTPViolation) -> Bool {
        let step = try stream.inbound.withBytes { bytes throws(HTTPViolation) in
            let step = try reader.next(bytes)
            if let data = step.data, body.count + data.count <= limit {
                for index in data { body.append(bytes[index]) }
            } else if step.data != nil {
                isTooLong = true
            }
            return step
        }
        stream.consume(step.consumed)
        if isTooLong {
            finish(.failure(.answer("too long")), stream)
        } else if reader.isComplete {
            finish(.success(answer), stream)
        }
        return step.consumed > 0
    }

    private var answer: WebAnswer {
        WebAnswer(
            status: head.status,
            body: body,
            cacheControl: head.text(of: Array("cache-control".utf8)),
            entityTag: head.text(of: Array("etag".utf8))
        )
    }

    private func finish(_ outcome: Result<WebAnswer, WebFailure>, _ stream: ByteStream) {
        guard let waiting = continuation else { return }
        continuation = nil
        waiting.resume(returning: outcome)
        stream.close()
    }
}

extension ResponseHead {
    /// The value of the first field of this name, if it is text.
    fileprivate func text(of name: [UInt8]) -> String? {
        guard let index = fields.firstIndex(named: name.span) else { return nil }
        let value = fields.value(at: index)
        var bytes: [UInt8] = []
        for index in 0..<value.count { bytes.append(value[index]) }
        return String(validating: bytes, as: UTF8.self)
    }
}
