// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

extension UpstreamConnection {
    func streamReceived(_ stream: ByteStream) {
        switch state {
        case .connecting, .closed:
            break
        case .idle:
            // Nobody asked: a late error page, or bytes meant to be taken for the next answer.
            close()
        case .awaitingHead, .readingBody, .relaying:
            readAnswer(stream)
        }
    }

    private func readAnswer(_ stream: ByteStream) {
        answerBegan = true
        var pieces = 0
        while state != .closed, let exchange, !stream.inbound.isEmpty {
            guard pieces < Self.piecesPerTurn else { return stream.yieldTurn() }
            pieces += 1
            do throws(HTTPViolation) {
                guard try readSome(stream, exchange) else { return }
            } catch {
                return closed(.invalidResponse(error.rawValue))
            }
        }
    }

    /// So many heads and pieces of a body are looked at before others get their turn: an upstream may send a byte a piece.
    private static let piecesPerTurn = 128

    /// Reads a head or a piece of body; false when more bytes are needed.
    private func readSome(_ stream: ByteStream, _ exchange: Exchange) throws(HTTPViolation) -> Bool {
        switch state {
        case .awaitingHead:
            let method = exchange.request.method
            let progress = try stream.inbound.withBytes { bytes throws(HTTPViolation) in
                try parser.parse(bytes, into: &exchange.response, answering: method)
            }
            guard case .head(let consumed) = progress else { return false }
            stream.consume(consumed)
            try headArrived(exchange)
            return true
        case .readingBody:
            return try readBody(stream, exchange)
        case .relaying:
            stream.inbound.withBytes { exchange.responseBodyArrived($0) }
            if state != .closed { stream.consume(stream.inbound.count) }
            arm(exchange)
            return false
        case .connecting, .idle, .closed:
            return false
        }
    }

    private func headArrived(_ exchange: Exchange) throws(HTTPViolation) {
        let status = exchange.response.status
        if status == 101 {
            guard exchange.request.upgrade == .webSocket else { throw .malformedStatus }
            guard WebSocketHandshake.isAccepted(exchange.request, by: exchange.response) else {
                return closed(.upgradeFailed)
            }
            state = .relaying
            keepsAlive = false
            deadlines.headArrived(isSwitch: true)
            endpoint.succeeded()
            exchange.responseHeadArrived()
            return arm(exchange)
        }
        if status < 200 {
            try interims.add(exchange.response)
            exchange.interimArrived()
            exchange.response.reset()
            return
        }
        keepsAlive = exchange.response.keepsAlive
        body.begin(exchange.response.framing, pool.limits)
        state = .readingBody
        deadlines.headArrived(isSwitch: false)
        endpoint.succeeded()
        exchange.responseHeadArrived()
        guard state == .readingBody else { return }
        if body.isComplete { return answerEnded() }
        arm(exchange)
    }

    private func readBody(_ stream: ByteStream, _ exchange: Exchange) throws(HTTPViolation) -> Bool {
        let step = try stream.inbound.withBytes { bytes throws(HTTPViolation) in
            let step = try body.next(bytes)
            if let data = step.data { exchange.responseBodyArrived(bytes.extracting(data)) }
            return step
        }
        guard state == .readingBody else { return false }
        stream.consume(step.consumed)
        if body.isComplete {
            answerEnded()
            return false
        }
        arm(exchange)
        return step.consumed > 0
    }

    func answerEnded() {
        guard let exchange else { return close() }
        state = .idle
        timer.cancel()
        body.dropTrailers(named: exchange.facts.route?.removedAnswerFields ?? [])
        exchange.responseEnded(keep: keepsAlive, trailers: body.trailers)
    }
}
