// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// IPv6 literals in the canonical form of RFC 5952, an embedded IPv4 tail in hexadecimal as browsers show it.
package enum IPv6Text {
    /// The canonical text of a literal without brackets; nil when it is none, or has a zone.
    package static func canonical(_ text: Substring) -> String? {
        groups(text).map(written)
    }

    /// The eight groups of a literal.
    package static func groups(_ text: Substring) -> [UInt16]? {
        guard text.utf8.count <= 45 else { return nil }
        guard let gap = text.firstRange(of: "::") else {
            guard let groups = run(text), groups.count == 8 else { return nil }
            return groups
        }
        let after = text[gap.upperBound...]
        guard let left = run(text[..<gap.lowerBound], mayEndInIPv4: false), let right = run(after),
            left.count + right.count <= 7
        else { return nil }
        return left + [UInt16](repeating: 0, count: 8 - left.count - right.count) + right
    }

    private static func run(_ text: Substring, mayEndInIPv4: Bool = true) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if part.contains(".") {
                guard mayEndInIPv4, index == parts.count - 1, let tail = ipv4(part) else { return nil }
                groups += [UInt16(truncatingIfNeeded: tail >> 16), UInt16(truncatingIfNeeded: tail)]
            } else {
                guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(isHex),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    /// The value of a dotted-decimal IPv4 address without leading zeros.
    package static func ipv4(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ 48...57 ~= $0 }),
                part.utf8.count == 1 || !part.hasPrefix("0"), let byte = UInt8(part)
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        return value
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...70, 97...102: true
        default: false
        }
    }

    private static func written(_ groups: [UInt16]) -> String {
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > best.count, end - start > 1 { best = start..<end }
            start = max(end, start + 1)
        }
        let hex = groups.map { String($0, radix: 16) }
        if best.isEmpty { return hex.joined(separator: ":") }
        return hex[..<best.lowerBound].joined(separator: ":") + "::" + hex[best.upperBound...].joined(separator: ":")
    }
}
