// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

@_spi(_Unicode) import Swift

/// Host names in the form they are stored and compared in.
package enum HostName {
    /// Lower-cases, composes (NFC), turns IDN labels into punycode, drops one trailing dot.
    ///
    /// IPv4 addresses are plain hosts of four decimal numbers; other spellings of a number are refused (APP-054).
    package static func normal(_ text: Substring) throws(SiteProblem) -> String {
        var host = text.utf8.allSatisfy({ $0 < 0x80 }) ? text.lowercased() : try punycoded(text)
        if host.utf8.last == UInt8(ascii: ".") { host.removeLast() }
        if host.isEmpty { throw .host }
        if host.utf8.count > 253 { throw .host }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        for label in labels { try check(label) }
        if let last = labels.last, isNumber(last) {
            guard labels.count == 4, labels.allSatisfy(isDecimalByte) else { throw .address }
        }
        return host
    }

    private static func check(_ label: Substring) throws(SiteProblem) {
        if label.isEmpty { throw .host }
        if label.utf8.count > 63 { throw .label }
        for byte in label.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                continue
            default: throw .host
            }
        }
    }

    private static func punycoded(_ text: Substring) throws(SiteProblem) -> String {
        // Lower-casing may decompose (İ), so composing comes last.
        let composed = String(String.UnicodeScalarView(text.lowercased()._nfc))
        var labels: [String] = []
        // The ideographic full stops separate labels as "." does (RFC 3490 3.1).
        for label in composed.split(
            omittingEmptySubsequences: false,
            whereSeparator: { ".\u{3002}\u{FF0E}\u{FF61}".contains($0) }
        ) {
            if label.utf8.allSatisfy({ $0 < 0x80 }) {
                labels.append(String(label))
            } else {
                guard let encoded = Punycode.encode(label) else { throw .label }
                labels.append("xn--" + encoded)
            }
        }
        return labels.joined(separator: ".")
    }

    /// Whether a reader could take the label for a number, so that the whole name would be an address.
    private static func isNumber(_ label: Substring) -> Bool {
        label.utf8.allSatisfy { 48...57 ~= $0 } || label.hasPrefix("0x")
    }

    private static func isDecimalByte(_ label: Substring) -> Bool {
        guard label.utf8.count <= 3, label.utf8.allSatisfy({ 48...57 ~= $0 }) else { return false }
        if label.utf8.count > 1, label.hasPrefix("0") { return false }
        return UInt8(label) != nil
    }
}
