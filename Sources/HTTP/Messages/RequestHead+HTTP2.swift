// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

extension RequestHead {
    /// Takes a pseudo field; each may come once (RFC 9113 8.3).
    mutating func receivePseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTPViolation) {
        let start = fields.storage.count
        let range = ByteRange(start, start + value.count)
        if name.equals(":method") {
            guard methodRange.isEmpty else { throw .malformedPseudoField }
            for index in value.indices where ByteClass.table[Int(value[index])] & ByteClass.token == 0 {
                throw .malformedMethod
            }
            method = Method(value)
            methodRange = range
        } else if name.equals(":path") {
            guard targetRange.isEmpty else { throw .malformedPseudoField }
            guard value.count > 0, ByteScan.endOfTarget(value, from: 0) == value.count else { throw .malformedTarget }
            targetRange = range
            pathEnd = range.end
        } else if name.equals(":authority") {
            guard authorityRange.isEmpty else { throw .malformedPseudoField }
            guard Authority(value) != nil else { throw .malformedHost }
            authorityRange = range
        } else if name.equals(":scheme") {
            guard value.equalsIgnoringCase("https") || value.equalsIgnoringCase("http") else {
                throw .malformedPseudoField
            }
            return
        } else {
            throw .malformedPseudoField
        }
        fields.storage.append(value)
    }

    /// Decides everything that pseudo fields and fields mean together.
    mutating func completeHTTP2(endsStream: Bool) throws(HTTPViolation) {
        version = .http2
        if method == .connect { throw .methodNotSupported }
        guard !methodRange.isEmpty, !targetRange.isEmpty else { throw .malformedPseudoField }
        let pathLength = Self.pathLength(of: target)
        pathEnd = targetRange.start &+ pathLength
        let first = target[0]
        if first == 0x2a, targetRange.count == 1, method == .options {
            targetForm = .asterisk
        } else if first == 0x2f {
            targetForm = .origin
        } else {
            throw .malformedTarget
        }
        try readHTTP2Host()
        if fields.contains(.connection) || fields.contains(.transferEncoding) || fields.contains(.upgrade)
            || fields.contains(.keepAlive) || fields.contains(.proxyConnection)
        {
            throw .connectionSpecificField
        }
        let framing = try MessageFraming(ofRequest: fields, version: .http2)
        self.framing = framing == .none && !endsStream ? .chunked : framing
        if endsStream, framing.hasBody { throw .lengthMismatch }
        try readExpectation()
    }

    /// RFC 9113 8.3.1: `:authority` and `Host` may not differ; either alone will do.
    private mutating func readHTTP2Host() throws(HTTPViolation) {
        if fields.isRepeated(.host) { throw .repeatedHost }
        guard let index = fields.firstIndex(of: .host) else {
            if authorityRange.isEmpty { throw .missingHost }
            return
        }
        let slot = fields.slots[index]
        guard authorityRange.isEmpty else {
            guard fields.value(at: index).equalsIgnoringCase(authority) else { throw .malformedHost }
            return
        }
        guard Authority(fields.value(at: index)) != nil else { throw .malformedHost }
        authorityRange = ByteRange(slot.valueStart, slot.valueEnd)
    }
}

extension ResponseHead {
    /// Takes `:status`, the one pseudo field of an answer.
    mutating func receivePseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTPViolation) {
        guard name.equals(":status"), status == 0, value.count == 3 else { throw .malformedPseudoField }
        var number = 0
        for index in value.indices {
            guard value[index].isASCIIDigit else { throw .malformedStatus }
            number = number * 10 + Int(value[index] &- 0x30)
        }
        guard number >= 100, number <= 599 else { throw .malformedStatus }
        status = number
    }

    /// Decides what the fields mean together; HTTP/1.1 needs to be told of an end that HTTP/2 sees.
    mutating func completeHTTP2(endsStream: Bool, answering method: Method) throws(HTTPViolation) {
        version = .http2
        // RFC 9113 8.6: there is no switching of protocols.
        guard status >= 100, status != 101 else { throw .malformedStatus }
        if fields.contains(.connection) || fields.contains(.transferEncoding) || fields.contains(.upgrade)
            || fields.contains(.keepAlive) || fields.contains(.proxyConnection)
        {
            throw .connectionSpecificField
        }
        fields.dropPosedProxyStatus()
        let decided = try MessageFraming(ofResponse: fields, version: .http2, status: status, answering: method)
        framing = decided == .untilClose ? (endsStream ? .length(0) : .chunked) : decided
    }
}
