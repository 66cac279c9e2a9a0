// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Values of `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), structured lists.
///
/// One member for each window that may refuse; shadow rules are not told to clients.
package enum RateLimitFields {
    /// Appends such as `"app";r=50;t=30`; appends nothing before the store answered.
    package static func appendState(of charge: WindowCharge, to buffer: inout [UInt8]) {
        var isFirst = true
        for index in charge.verdicts.indices where !charge.entries[index].rule.isShadow {
            append(charge.entries[index].rule, isFirst: &isFirst, to: &buffer)
            buffer.append(utf8: ";r=")
            buffer.append(decimal: Int64(charge.verdicts[index].remaining))
            buffer.append(utf8: ";t=")
            buffer.append(decimal: Int64(charge.verdicts[index].resetSeconds))
        }
    }

    /// Appends such as `"app";q=100;w=60`; constant for a route, so render it once.
    package static func appendPolicy(of rules: [WindowRule], to buffer: inout [UInt8]) {
        var isFirst = true
        for rule in rules where !rule.isShadow {
            append(rule, isFirst: &isFirst, to: &buffer)
            buffer.append(utf8: ";q=")
            buffer.append(decimal: Int64(rule.limit))
            buffer.append(utf8: ";w=")
            buffer.append(decimal: rule.window.components.seconds + (rule.window.components.attoseconds > 0 ? 1 : 0))
        }
    }

    private static func append(_ rule: WindowRule, isFirst: inout Bool, to buffer: inout [UInt8]) {
        if !isFirst { buffer.append(utf8: ", ") }
        isFirst = false
        buffer.append(contentsOf: rule.quotedName)
    }

    /// A name as a string of structured fields.
    static func quoted(_ name: String) -> [UInt8] {
        var buffer = [UInt8(ascii: "\"")]
        for byte in name.utf8 {
            // RFC 9651 3.3.3: a string holds visible ASCII; quote and backslash are escaped.
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { buffer.append(UInt8(ascii: "\\")) }
            if byte >= 0x20 && byte < 0x7f { buffer.append(byte) }
        }
        buffer.append(UInt8(ascii: "\""))
        return buffer
    }
}
