// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

extension RequestHead {
    /// Keeps the bytes and decides everything that the fields together mean; `bytes` end with the empty line.
    mutating func complete(
        _ bytes: Span<UInt8>,
        _ line: RequestLine,
        _ tally: FieldTable.Tally
    ) throws(HTTPViolation) {
        fields.commit(bytes, tally)
        method = line.method
        version = line.version
        methodRange = line.methodRange
        targetRange = line.targetRange
        pathEnd = line.targetRange.end
        try readTarget(bytes)
        try readHost()
        connection = try fields.readConnection()
        framing = try MessageFraming(ofRequest: fields, version: version)
        try readExpectation()
        if fields.contains(.upgrade) { upgrade = readUpgrade() }
    }

    /// RFC 9112 3.2: which form a target has depends on the method, and the rest is refused.
    private mutating func readTarget(_ bytes: Span<UInt8>) throws(HTTPViolation) {
        // RFC 9110 9.3.6: this gateway opens no tunnels on request.
        if method == .connect { throw .methodNotSupported }
        let target = bytes[targetRange]
        if target[0] == 0x2f {
            targetForm = .origin
        } else if target.count == 1, target[0] == 0x2a {
            guard method == .options else { throw .malformedTarget }
            targetForm = .asterisk
        } else {
            try readAbsoluteForm(bytes)
        }
        let pathLength = Self.pathLength(of: self.target)
        pathEnd = targetRange.start &+ pathLength
    }

    /// Where the path of `target` ends: at the first question mark.
    static func pathLength(of target: Span<UInt8>) -> UInt32 {
        var end = 0
        while end < target.count, target[end] != 0x3f { end &+= 1 }
        return UInt32(truncatingIfNeeded: end)
    }

    /// Takes the authority out of an absolute-form target and leaves the origin form in `targetRange`.
    private mutating func readAbsoluteForm(_ bytes: Span<UInt8>) throws(HTTPViolation) {
        let target = bytes[targetRange]
        let schemeLength: Int
        if target.count > 7, target.extracting(0..<7).equalsIgnoringCase("http://") {
            schemeLength = 7
        } else if target.count > 8, target.extracting(0..<8).equalsIgnoringCase("https://") {
            schemeLength = 8
        } else {
            throw .malformedTarget
        }
        var end = schemeLength
        while end < target.count, target[end] != 0x2f, target[end] != 0x3f { end += 1 }
        guard Authority(target.extracting(schemeLength..<end)) != nil else { throw .malformedTarget }
        targetForm = .absolute
        authorityRange = ByteRange(
            targetRange.start + UInt32(truncatingIfNeeded: schemeLength),
            targetRange.start + UInt32(truncatingIfNeeded: end)
        )
        if end < target.count, target[end] == 0x2f {
            targetRange.start = authorityRange.end
            return
        }
        // RFC 9112 3.2.1 and 3.2.4: no path means `/`, and for OPTIONS without a query `*`.
        var origin: [UInt8] = [end == target.count && method == .options ? 0x2a : 0x2f]
        for index in end..<target.count { origin.append(target[index]) }
        let start = fields.storage.count
        fields.storage.append(contentsOf: origin)
        targetRange = ByteRange(start, start + origin.count)
    }

    /// RFC 9112 3.2: exactly one valid `Host` in HTTP/1.1, at most one in 1.0; an absolute-form target overrides it.
    private mutating func readHost() throws(HTTPViolation) {
        guard let index = fields.firstIndex(of: .host) else {
            if version == .http11 { throw .missingHost }
            return
        }
        if fields.isRepeated(.host) { throw .repeatedHost }
        let slot = fields.slots[index]
        if slot.valueStart == slot.valueEnd {
            // An empty Host names nobody, so no route could ever be judged by it.
            throw .missingHost
        }
        guard Authority(fields.value(at: index)) != nil else { throw .malformedHost }
        if targetForm != .absolute { authorityRange = ByteRange(slot.valueStart, slot.valueEnd) }
    }

    /// RFC 9110 10.1.1: `100-continue` is the only expectation there is, and HTTP/1.0 has none.
    mutating func readExpectation() throws(HTTPViolation) {
        guard fields.contains(.expect), version != .http10 else { return }
        guard expectsOnlyContinue else { throw .expectationFailed }
        expectsContinue = framing.hasBody
    }

    private var expectsOnlyContinue: Bool {
        guard let value = fields.first(.expect) else { return false }
        return !fields.isRepeated(.expect) && value.equalsIgnoringCase("100-continue")
    }

    /// RFC 6455 4.2.1; asked for without `Connection: upgrade` it was not asked for.
    private func readUpgrade() -> UpgradeRequest {
        guard connection.contains(.upgrade), version == .http11 else { return .none }
        guard method == .get, framing == .none, !fields.isRepeated(.upgrade),
            let protocols = fields.first(.upgrade), protocols.equalsIgnoringCase("websocket"),
            let version = fields.first(.secWebSocketVersion), !fields.isRepeated(.secWebSocketVersion),
            version.equals("13"),
            let key = fields.first(.secWebSocketKey), !fields.isRepeated(.secWebSocketKey),
            key.isWebSocketKey
        else { return .unsupported }
        return .webSocket
    }
}

extension Span<UInt8> {
    /// Whether the bytes are base64 of sixteen bytes.
    fileprivate var isWebSocketKey: Bool {
        guard count == 24, self[22] == 0x3d, self[23] == 0x3d else { return false }
        for index in 0..<22 {
            let byte = self[index]
            let isLetter = byte.asciiLowercased &- 0x61 < 26
            if !isLetter, !byte.isASCIIDigit, byte != 0x2b, byte != 0x2f { return false }
        }
        return true
    }
}
