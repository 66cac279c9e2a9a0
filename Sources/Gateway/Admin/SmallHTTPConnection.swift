// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Limits
import Transport

/// One connection of a `SmallHTTPServer`: reads a request whole, has it answered, then reads the next.
@Reactor
final class SmallHTTPConnection: StreamOwner {
    private enum State {
        case head
        /// So many bytes of the body are still to come.
        case body(Int)
        case answering
        case closing
    }

    private unowned let server: SmallHTTPServer
    private let stream: ByteStream
    private let by: String
    /// What it counts for; nil where that is not bounded.
    let network: ClientNetwork?
    /// The later it was accepted, or answered last, the higher.
    private(set) var since: Int
    private var wasAnswered = false
    private let deadline: LoopTimer
    private var parser = RequestParser()
    private var head = RequestHead()
    private var body: [UInt8] = []
    private var state = State.head

    init(server: SmallHTTPServer, stream: ByteStream, by: String, network: ClientNetwork?, loop: EventLoop) {
        self.server = server
        self.stream = stream
        self.by = by
        self.network = network
        self.since = server.nextStep()
        self.deadline = LoopTimer(loop: loop)
        deadline.onFire = { [unowned self] in timePassed() }
    }

    func start() {
        deadline.arm(after: server.limits.headDeadline)
        stream.start(owner: self)
    }

    /// Whether no whole request is under way: a part of it at most is there, and the last answer is out.
    var owesRequest: Bool {
        switch state {
        // With TLS what is written may wait as ciphertext.
        case .head, .closing: stream.outboundCount == 0
        case .body: true
        case .answering: false
        }
    }

    /// What its peer loses when it gives way: nothing after an answer, a handshake and a part of a head, a known request.
    var loss: Int {
        switch state {
        case .closing: 0
        case .head: wasAnswered && stream.inbound.count == 0 ? 0 : 1
        case .body, .answering: 2
        }
    }

    /// Ends for another's sake; it owes its request.
    func giveWay() {
        deadline.cancel()
        cut()
    }

    func streamReceived(_ stream: ByteStream) {
        while advance() {}
    }

    func streamDrained(_ stream: ByteStream) {
        while advance() {}
    }

    func streamEnded(_ stream: ByteStream) {
        // A peer that shut its side after a whole request still gets its answer.
        if case .answering = state { return }
        end()
    }

    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?) {
        deadline.cancel()
        state = .closing
        server.connectionEnded(self)
    }

    /// Takes one step; whether another may follow.
    private func advance() -> Bool {
        switch state {
        // Who asks on and reads nothing has to wait.
        case .head: return !stream.isCongested && readHead()
        case .body(let missing): return readBody(missing)
        case .answering, .closing: return false
        }
    }

    private func readHead() -> Bool {
        do {
            let progress = try parse(stream.inbound)
            guard case .head(let consumed) = progress else { return false }
            stream.consume(consumed)
        } catch {
            refuse(error.status, "the request is malformed")
            return false
        }
        // Two would be two opinions about who asks, as on the data plane.
        guard !head.fields.isRepeated(.authorization) else {
            refuse(400, "the request has Authorization twice")
            return false
        }
        body = []
        deadline.arm(after: server.limits.bodyDeadline)
        switch head.framing {
        case .none: state = .body(0)
        case .length(let length) where length <= UInt64(server.limits.bodyBytes): state = .body(Int(length))
        case .length: refuse(413, "the body is too long")
        case .chunked, .untilClose: refuse(411, "the body needs a Content-Length")
        }
        if head.expectsContinue, case .body = state { stream.write("HTTP/1.1 100 Continue\r\n\r\n") }
        return true
    }

    private func readBody(_ missing: Int) -> Bool {
        let taken = min(missing, stream.inbound.count)
        takeBody(taken, from: stream.inbound)
        stream.consume(taken)
        state = .body(missing - taken)
        guard taken == missing else { return false }
        state = .answering
        deadline.cancel()
        let path = text(head.path)
        var query = ""
        if let bytes = head.query { query = text(bytes) }
        let request = SmallRequest(
            method: text(head.methodBytes),
            path: path,
            query: query,
            body: body,
            by: by,
            authority: head.authorityText,
            authorization: head.text(of: .authorization)
        )
        let keepsAlive = head.keepsAlive
        let isHead = head.method == .head
        Task { @Reactor in
            let answer = await server.answer(request)
            send(answer, keepsAlive: keepsAlive, withoutBody: isHead)
        }
        return false
    }

    private func parse(_ buffer: borrowing ByteBuffer) throws(HTTPViolation) -> ParseProgress {
        try parser.parse(buffer.bytes, into: &head)
    }

    private func takeBody(_ count: Int, from buffer: borrowing ByteBuffer) {
        let bytes = buffer.bytes
        for index in 0..<count { body.append(bytes[index]) }
    }

    private func send(_ answer: SmallAnswer, keepsAlive: Bool, withoutBody: Bool) {
        guard case .answering = state else { return }
        HeadWriter.appendStatusLine(answer.status, to: &stream.outbound)
        HeadWriter.appendField("Content-Type", answer.contentType.utf8.span, to: &stream.outbound)
        HeadWriter.appendField("Content-Length", answer.body.count, to: &stream.outbound)
        HeadWriter.appendField("Cache-Control", "no-store".utf8.span, to: &stream.outbound)
        if !keepsAlive { HeadWriter.appendField("Connection", "close".utf8.span, to: &stream.outbound) }
        HeadWriter.endHead(&stream.outbound)
        if !withoutBody { stream.outbound.append(answer.body.span) }
        stream.outboundAppended()
        guard keepsAlive, !stream.peerHasEnded else { return end() }
        state = .head
        wasAnswered = true
        since = server.nextStep()
        deadline.arm(after: server.limits.idleDeadline)
        while advance() {}
    }

    private func refuse(_ status: Int, _ words: String) {
        state = .answering
        send(server.refusal(status, words), keepsAlive: false, withoutBody: false)
    }

    /// Whoever owes us something has no claim to an ordered end, which a handshake would even hold up.
    private func timePassed() {
        guard stream.outboundCount == 0 else { return end() }
        cut()
    }

    private func cut() {
        state = .closing
        stream.close()
        server.connectionEnded(self)
    }

    private func end() {
        state = .closing
        deadline.cancel()
        stream.closeAfterFlush()
    }

    private func text(_ bytes: Span<UInt8>) -> String {
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for index in bytes.indices { copy.append(bytes[index]) }
        return String(decoding: copy, as: UTF8.self)
    }
}
