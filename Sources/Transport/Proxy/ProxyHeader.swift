// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a balancer says in front of a connection by the PROXY protocol, version 1 or 2 (haproxy's proxy-protocol.txt).
package struct ProxyHeader: Sendable, Equatable {
    /// Where the client's connection comes from; nil where the balancer speaks for itself (LOCAL) or does not say.
    package var client: SocketAddress?

    package init(client: SocketAddress?) {
        self.client = client
    }

    /// How far a header has come.
    package enum Progress: Sendable, Equatable {
        case needMore
        /// The header, and how many bytes it takes.
        case header(ProxyHeader, length: Int)
        /// The bytes begin with something else.
        case absent
    }

    /// The longest header that is taken: addresses need 52 bytes, what balancers tell besides a few hundred.
    package static let longest = 4096

    static let fixedLength = 16
    private static let longestText = 107

    /// Reads the header at the front of `bytes`.
    package static func read(_ bytes: Span<UInt8>) throws(ProxyFailure) -> Progress {
        if let progress = try readBinary(bytes) { return progress }
        return try readText(bytes)
    }

    // MARK: Version 2

    /// Nil where the bytes do not begin as version 2 does.
    private static func readBinary(_ bytes: Span<UInt8>) throws(ProxyFailure) -> Progress? {
        let signature: InlineArray<12, UInt8> = [
            0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
        ]
        guard bytes.begins(as: signature.span) else { return nil }
        guard bytes.count >= fixedLength else { return .needMore }
        let length = fixedLength + Int(bytes[14]) << 8 + Int(bytes[15])
        guard length <= longest else { throw .tooLong }
        guard bytes[12] >> 4 == 2, bytes[12] & 15 <= 1 else { throw .malformed }
        guard bytes.count >= length else { return .needMore }
        let isLocal = bytes[12] & 15 == 0
        let client = isLocal ? nil : try source(family: bytes[13], bytes.extracting(fixedLength..<length))
        return .header(ProxyHeader(client: client), length: length)
    }

    /// The source address of a block of addresses; what follows the addresses is skipped.
    private static func source(family: UInt8, _ block: Span<UInt8>) throws(ProxyFailure) -> SocketAddress? {
        switch family {
        case 0x11:
            guard block.count >= 12 else { throw .malformed }
            return .ip(
                IPAddress(v4: UInt32(truncatingIfNeeded: block.number(at: 0, length: 4))),
                port: block.port(at: 8)
            )
        case 0x21:
            guard block.count >= 36 else { throw .malformed }
            let address = IPAddress(v6High: block.number(at: 0, length: 8), low: block.number(at: 8, length: 8))
            return .ip(address, port: block.port(at: 32))
        case 0x31:
            guard block.count >= 216 else { throw .malformed }
            return nil
        case 0x00:
            return nil
        default:
            // Datagrams, and families nobody has defined, do not come by a stream.
            throw .malformed
        }
    }

    // MARK: Version 1

    private static func readText(_ bytes: Span<UInt8>) throws(ProxyFailure) -> Progress {
        let signature: InlineArray<6, UInt8> = [0x50, 0x52, 0x4f, 0x58, 0x59, 0x20]
        guard bytes.begins(as: signature.span) else { return .absent }
        var end = 6
        // Nothing beyond the longest line is looked at, so that the answer does not depend on how much has come.
        let most = min(bytes.count, longestText - 1)
        while end < most, bytes[end] != 0x0d {
            // A line of text: nothing else is in it.
            guard bytes[end] >= 0x20, bytes[end] < 0x7f else { throw .malformed }
            end += 1
        }
        guard end + 2 <= longestText else { throw .tooLong }
        guard end + 1 < bytes.count else { return .needMore }
        guard bytes[end + 1] == 0x0a else { throw .malformed }
        let client = try source(text: bytes.extracting(6..<end))
        return .header(ProxyHeader(client: client), length: end + 2)
    }

    private static func source(text: Span<UInt8>) throws(ProxyFailure) -> SocketAddress? {
        var line = ""
        for index in text.indices { line.unicodeScalars.append(Unicode.Scalar(text[index])) }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        // Whatever follows UNKNOWN is to be ignored.
        if words[0] == "UNKNOWN" { return nil }
        guard words.count == 5, words[0] == "TCP4" || words[0] == "TCP6",
            let source = address(words[1], family: words[0]), address(words[2], family: words[0]) != nil,
            let port = number(words[3]), number(words[4]) != nil
        else { throw .malformed }
        return .ip(source, port: port)
    }

    private static func address(_ text: Substring, family: Substring) -> IPAddress? {
        guard text.contains(":") == (family == "TCP6") else { return nil }
        return IPAddress(parsing: String(text))
    }

    private static func number(_ text: Substring) -> UInt16? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            text == "0" || text.first != "0"
        else { return nil }
        return UInt16(text)
    }
}

/// Why a connection in front of which a PROXY header is due is not taken; the raw value is the word of the log line.
package enum ProxyFailure: String, Error, Sendable, CaseIterable {
    /// The connection begins with something else.
    case missing
    case malformed
    case tooLong = "too_long"
    /// The header did not come in time.
    case tooSlow = "too_slow"
    /// The connection ended before the header did.
    case closedEarly = "closed_early"
}

extension Span<UInt8> {
    /// Whether these bytes and `signature` are the same as far as both go.
    fileprivate func begins(as signature: Span<UInt8>) -> Bool {
        let length = Swift.min(count, signature.count)
        for index in 0..<length where self[index] != signature[index] { return false }
        return true
    }

    /// The big-endian number of `length` bytes.
    fileprivate func number(at start: Int, length: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in start..<start + length { number = number << 8 | UInt64(self[index]) }
        return number
    }

    fileprivate func port(at start: Int) -> UInt16 {
        UInt16(truncatingIfNeeded: number(at: start, length: 2))
    }
}
