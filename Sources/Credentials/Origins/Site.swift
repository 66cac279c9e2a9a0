// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A website address taken apart: what origins and domains are made of.
struct Site: Equatable {
    enum Scheme: String {
        case http, https

        var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    /// nil when none was written.
    var scheme: Scheme?
    /// In normal form: lower case, punycode, canonical IPv6 in brackets, no trailing dot.
    var host: String
    /// As written, defaults included.
    var port: UInt16?

    /// What may follow the authority.
    enum Tail {
        /// Anything: a pasted address; it is dropped.
        case dropped
        /// Nothing, or one slash: the `Origin` field.
        case none
    }

    /// Parses a trimmed address.
    init(parsing text: Substring, tail: Tail) throws(SiteProblem) {
        var rest = text
        if let mark = rest.firstRange(of: "://") {
            guard let scheme = Scheme(rawValue: rest[..<mark.lowerBound].lowercased()) else { throw .scheme }
            self.scheme = scheme
            rest = rest[mark.upperBound...]
        } else {
            self.scheme = nil
            if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        if case .none = tail, end != rest.endIndex, rest[end...] != "/" { throw .host }
        (host, port) = try Site.authority(rest[..<end])
    }

    private static func authority(_ text: Substring) throws(SiteProblem) -> (String, UInt16?) {
        if text.isEmpty { throw .empty }
        if text.contains("@") { throw .userInformation }
        if text.contains("*") { throw .wildcard }
        if text.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 }) { throw .space }
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { throw .address }
            let inside = text[text.index(after: text.startIndex)..<close]
            guard let address = IPv6Text.canonical(inside) else { throw .address }
            return ("[\(address)]", try port(after: text[text.index(after: close)...]))
        }
        let colon = text.lastIndex(of: ":") ?? text.endIndex
        return (try HostName.normal(text[..<colon]), try port(after: text[colon...]))
    }

    /// Parses nothing, or `:` and a port from 1 to 65535.
    private static func port(after text: Substring) throws(SiteProblem) -> UInt16? {
        if text.isEmpty { return nil }
        let digits = text.dropFirst()
        guard text.hasPrefix(":"), (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ 48...57 ~= $0 }),
            let port = UInt16(digits), port > 0
        else { throw .port }
        return port
    }
}
