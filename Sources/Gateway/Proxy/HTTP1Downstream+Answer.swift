// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

extension HTTP1Downstream {
    var isCongested: Bool { stream.isCongested }

    func sendContinue() {
        stream.outbound.append("HTTP/1.1 100 Continue\r\n\r\n")
        stream.outboundAppended()
    }

    func sendInterim(_ exchange: Exchange) {
        // RFC 9110 15.2: an HTTP/1.0 client gets no interim answers.
        guard exchange.request.version >= .http11 else { return }
        appendUpstreamHead(exchange)
        HeadWriter.endHead(&stream.outbound)
        stream.outboundAppended()
    }

    func sendHead(_ exchange: Exchange) {
        if exchange.response.status == 101 { return switchProtocols(exchange) }
        frameAnswer(exchange)
        appendUpstreamHead(exchange)
        exchange.appendAnswerFields(to: &stream.outbound)
        if answerIsChunked { stream.outbound.append("Transfer-Encoding: chunked\r\n") }
        // An HTTP/2 answer may end with its head and say nothing of a length.
        if case .length(let length) = exchange.response.framing, !exchange.response.fields.contains(.contentLength) {
            HeadWriter.appendField("Content-Length", Int(clamping: length), to: &stream.outbound)
        }
        if closesAfterAnswer {
            stream.outbound.append("Connection: close\r\n")
        } else if exchange.request.version == .http10 {
            stream.outbound.append("Connection: keep-alive\r\n")
        }
        HeadWriter.endHead(&stream.outbound)
        stream.outboundAppended()
    }

    /// What the upstream's head says and the client may hear.
    @inline(__always)
    private func appendUpstreamHead(_ exchange: Exchange) {
        exchange.dropAnswerFields()
        HeadWriter.appendResponse(
            exchange.response,
            skipping: exchange.response.fieldsNotRelayed.union(exchange.withheldAnswerFields),
            to: &stream.outbound
        )
    }

    /// Decides how the client learns where the body ends.
    private func frameAnswer(_ exchange: Exchange) {
        answerIsChunked = false
        switch exchange.response.framing {
        case .none, .length:
            break
        case .chunked, .untilClose:
            // An HTTP/1.0 client knows only the end of the connection (RFC 9112 6.3).
            answerIsChunked = exchange.request.version >= .http11
            if !answerIsChunked { closesAfterAnswer = true }
        }
        // The rest of an upload that nobody reads would be taken for the next request.
        // A client that waits to be told to send it may never do.
        if !body.isComplete, exchange.response.status >= 400 || exchange.request.expectsContinue {
            closesAfterAnswer = true
        }
        if isLeaving { closesAfterAnswer = true }
    }

    private func switchProtocols(_ exchange: Exchange) {
        appendUpstreamHead(exchange)
        exchange.appendAnswerFields(to: &stream.outbound)
        exchange.appendSubprotocol(to: &stream.outbound)
        stream.outbound.append("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        stream.outboundAppended()
        becomeRelay()
    }

    func sendBody(_ bytes: Span<UInt8>) {
        if answerIsChunked {
            ChunkedEncoder.append(bytes, to: &stream.outbound)
        } else {
            stream.outbound.append(bytes)
        }
        bytesAppended()
    }

    func sendEnd(_ exchange: Exchange, trailers: borrowing FieldTable) {
        if answerIsChunked {
            ChunkedEncoder.appendEnd(
                trailers: trailers,
                skipping: KnownFieldSet.neverForwarded.union(exchange.withheldAnswerFields),
                to: &stream.outbound
            )
        }
        stream.outboundAppended()
        answerWritten()
    }

    func sendRelayed(_ bytes: Span<UInt8>) {
        stream.outbound.append(bytes)
        bytesAppended()
    }

    /// A client that does not take what waits for it has so long.
    @inline(__always)
    private func bytesAppended() {
        stream.outboundAppended()
        if stream.isCongested, writeLimit == .distantFuture { armForWriting() }
    }

    func sendLocal(_ answer: LocalAnswer, for exchange: Exchange) {
        if answer.closesConnection || !body.isComplete || isLeaving { closesAfterAnswer = true }
        answer.append(
            isHead: exchange.request.method == .head,
            closes: closesAfterAnswer,
            date: worker.date.bytes(at: worker.loop.wallClockMilliseconds).span,
            to: &stream.outbound
        )
        stream.outboundAppended()
        answerWritten()
    }

    func finishRelay() {
        guard state == .relaying else { return }
        stream.closeWrite()
    }

    func endRelay() { closeAfterRelay() }

    func endShort() {
        // A chunked or counted body that ends early tells the client that it is not whole; any other is told by a reset.
        let isCounted = if case .length = exchange?.response.framing { true } else { false }
        exchange = nil
        wantsBody = false
        guard !answerIsChunked, !isCounted else { return beginClosing() }
        stream.flushNow()
        stream.reset()
        close()
    }

    func abort() {
        // A chunked or counted body that ends early tells the client that it is not whole; so must an open-ended one.
        if state == .relaying { closeAfterRelay() } else { close() }
    }

    func streamDrained(_ stream: ByteStream) {
        writingEased()
        switch state {
        case .exchanging, .relaying: exchange?.clientDrained()
        case .idle, .readingHead: process()
        case .discarding, .closing, .closed: break
        }
    }
}
