// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// Heads and trailers, field by field as the frame layer decodes them, and what they make of a stream.
extension HTTP2Session {
    func blockBegan(_ kind: NghttpSession.BlockKind, stream id: Int32) {
        blockBytes = 0
        fieldBytes = 0
        if role == .server, kind == .request {
            // RFC 9113 6.8: what the client is told was not taken must not be done.
            guard id <= lastTaken else {
                ownResets.insert(id)
                return frames.reset(id, .refusedStream)
            }
            closed.opened(id)
            _ = open(id)
        }
        guard let stream = stream(id) else { return }
        if stream.phase == .body { stream.trailers.reset() } else if role == .client { stream.response.reset() }
    }

    /// Takes one field of a head or trailer section; false when the peer keeps sending too many.
    func fieldReceived(_ name: Span<UInt8>, _ value: Span<UInt8>, stream id: Int32) -> Bool {
        guard let stream = stream(id) else { return true }
        // RFC 9113 6.5.2 counts 32 bytes for each field.
        blockBytes += name.count + value.count + 32
        if stream.violation != nil {
            // Compressed, a block can be a thousand times what it was on the wire: no more of it is looked at.
            return blockBytes <= 16 * settings.heads.fieldBytes || stop(.largeHeaders)
        }
        do {
            try keep(name, value, of: stream)
        } catch {
            stream.violation = error
            let isTooLarge = error == .fieldsTooLarge || error == .tooManyFields
            if isTooLarge { return spend(.largeHeaders, \.largeHeaders) }
        }
        return true
    }

    private func keep(_ name: Span<UInt8>, _ value: Span<UInt8>, of stream: HTTP2Stream) throws(HTTPViolation) {
        let limits = settings.heads
        let isTrailer = stream.phase == .body
        if name.count > 0, name[0] == 0x3a {
            if isTrailer { throw .malformedPseudoField }
            if value.count > limits.startLine { throw .startLineTooLong }
            if role == .server {
                try stream.request.receivePseudo(name, value)
            } else {
                try stream.response.receivePseudo(name, value)
            }
            return
        }
        fieldBytes += name.count + value.count
        if fieldBytes > limits.fieldBytes { throw .fieldsTooLarge }
        try checkField(name, value)
        if isTrailer {
            try stream.trailers.keep(name, value, limits)
        } else if role == .client {
            try stream.response.fields.keep(name, value, limits)
        } else if name.equals("cookie") {
            // RFC 9113 8.2.3: crumbs are one field again before they reach anything but HTTP/2.
            if !stream.cookies.isEmpty { stream.cookies.append("; ") }
            stream.cookies.append(value)
        } else {
            try stream.request.fields.keep(name, value, limits)
        }
    }

    /// The library checked this too; what reaches an upstream is worth a second look that does not depend on it.
    private func checkField(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTPViolation) {
        guard name.count > 0 else { throw .malformedFieldName }
        for index in name.indices {
            let byte = name[index]
            if ByteClass.table[Int(byte)] & ByteClass.token == 0 || byte &- 0x41 < 26 { throw .malformedFieldName }
        }
        if ByteScan.endOfValue(value, from: 0) != value.count { throw .controlByte }
    }

    func blockEnded(stream id: Int32, endsStream: Bool) {
        guard let stream = stream(id) else { return }
        if stream.phase == .body {
            trailersEnded(stream, endsStream: endsStream)
        } else if role == .server {
            requestEnded(stream, endsStream: endsStream)
        } else {
            responseEnded(stream, endsStream: endsStream)
        }
    }

    private func trailersEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        if let violation = stream.violation {
            tell(.refused(stream, violation))
            return reset(stream, .protocolError)
        }
        stream.trailers.dropForbiddenTrailers()
        stream.hasTrailers = true
        if endsStream { streamEnded(stream.id) }
    }

    private func requestEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        stream.phase = .body
        if stream.violation == nil {
            if !stream.cookies.isEmpty {
                stream.request.fields.append(name: "cookie".utf8.span, value: stream.cookies.bytes)
            }
            do {
                try stream.request.completeHTTP2(endsStream: endsStream)
            } catch {
                stream.violation = error
            }
        }
        stream.isInboundEnded = endsStream
        guard let violation = stream.violation else {
            tell(.head(stream))
            if endsStream { tell(.ended(stream)) }
            return
        }
        tell(.refused(stream, violation))
        if !endsStream { ignoreInbound(of: stream) }
    }

    private func responseEnded(_ stream: HTTP2Stream, endsStream: Bool) {
        if stream.violation == nil {
            do {
                try stream.response.completeHTTP2(endsStream: endsStream, answering: stream.method)
                if stream.response.isInterim {
                    if endsStream { throw HTTPViolation.malformedStatus }
                    try stream.interims.add(stream.response)
                }
            } catch {
                stream.violation = error as? HTTPViolation ?? .malformedStatus
            }
        }
        if let violation = stream.violation {
            tell(.refused(stream, violation))
            return reset(stream, .protocolError)
        }
        if stream.response.isInterim {
            let interim = InterimAnswer()
            swap(&interim.head, &stream.response)
            return tell(.interim(stream, interim))
        }
        tell(.head(stream))
        stream.phase = .body
        if endsStream { streamEnded(stream.id) }
    }
}

extension FieldTable {
    /// Adds a field within the limits.
    fileprivate mutating func keep(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>,
        _ limits: ParserLimits
    ) throws(HTTPViolation) {
        guard count < limits.fieldCount, count < Self.mostFields else { throw .tooManyFields }
        guard name.count <= Self.longestName else { throw .fieldsTooLarge }
        append(name: name, value: value)
    }
}

extension RequestHead {
    /// Whether the client reads trailers (RFC 9110 10.1.4).
    package var acceptsTrailers: Bool {
        guard let value = fields.first(.te) else { return false }
        var list = TokenList()
        while let range = list.nextMember(of: value) {
            if value.extracting(range).equalsIgnoringCase("trailers") { return true }
        }
        return false
    }
}
