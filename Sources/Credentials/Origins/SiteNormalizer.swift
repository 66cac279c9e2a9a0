// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The one normaliser of origins (OFF-069) and domains (APP-038): pure, with the tables of the specification as tests.
package enum SiteNormalizer {
    /// A host name has 253 bytes, its letters at most four bytes each before they are encoded; what is longer names
    /// none, and is not looked at letter by letter.
    private static let longestText = 1_100

    /// Normalises what an administrator adds as an origin; path, query and fragment are dropped.
    package static func origin(adding text: String) -> Result<String, SiteProblem> {
        Result { () throws(SiteProblem) in try origin(parse(text, tail: .dropped)) }
    }

    /// Normalises an `Origin` field: like `adding`, but nothing may follow the authority but one slash.
    package static func origin(presented text: String) -> Result<String, SiteProblem> {
        Result { () throws(SiteProblem) in try origin(parse(text, tail: .none)) }
    }

    /// Normalises what an administrator adds as a domain, or a page presents as one.
    package static func domain(adding text: String) -> Result<String, SiteProblem> {
        Result { () throws(SiteProblem) in
            let site = try parse(text, tail: .dropped)
            guard let port = site.port, port != site.scheme?.defaultPort else { return site.host }
            return "\(site.host):\(port)"
        }
    }

    /// The entries that would let a page of this origin (in normal form) in: the origin itself in dialects A and B, in
    /// dialect C its host, and its host with the port that counts.
    package static func entries(admitting origin: String, dialect: Dialect) -> [String] {
        switch dialect {
        case .offlineid, .vouch: return [origin]
        case .appengine:
            guard
                case .success(let site) = Result(catching: { () throws(SiteProblem) in
                    try parse(origin, tail: .none)
                }), let scheme = site.scheme
            else { return [] }
            return [site.host, "\(site.host):\(site.port ?? scheme.defaultPort)"]
        }
    }

    /// Parses with the surrounding white space gone; `null` names no site.
    static func parse(_ text: String, tail: Site.Tail) throws(SiteProblem) -> Site {
        guard text.utf8.count <= longestText else { throw .host }
        var trimmed = Substring(text)
        while trimmed.unicodeScalars.first?.properties.isWhitespace == true { trimmed.unicodeScalars.removeFirst() }
        while trimmed.unicodeScalars.last?.properties.isWhitespace == true { trimmed.unicodeScalars.removeLast() }
        if trimmed.isEmpty { throw .empty }
        if trimmed == "null" { throw .null }
        return try Site(parsing: trimmed, tail: tail)
    }

    private static func origin(_ site: Site) throws(SiteProblem) -> String {
        guard let scheme = site.scheme else { throw .scheme }
        guard let port = site.port, port != scheme.defaultPort else { return "\(scheme.rawValue)://\(site.host)" }
        return "\(scheme.rawValue)://\(site.host):\(port)"
    }

    /// Whether normalising the bytes would change nothing or fail, so that a failed look-up is final.
    ///
    /// True for what browsers send for names and IPv4 addresses; everything else takes the slow path.
    package static func isNormalOrigin(_ origin: Span<UInt8>) -> Bool {
        let schemeLength = origin.starts("https://") ? 8 : origin.starts("http://") ? 7 : 0
        guard schemeLength > 0, origin.count > schemeLength else { return false }
        var portStart = 0
        for index in schemeLength..<origin.count {
            switch origin[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
                if portStart > 0 { return false }
            case UInt8(ascii: "."):
                if portStart > 0 || index + 1 == origin.count || origin[index + 1] == UInt8(ascii: ":") { return false }
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if index == portStart, origin[index] == UInt8(ascii: "0") { return false }
            case UInt8(ascii: ":"):
                if portStart > 0 { return false }
                portStart = index + 1
            default: return false
            }
        }
        guard portStart > 0 else { return true }
        let port = origin.extracting(portStart..<origin.count)
        return !port.isEmpty && !port.equals(schemeLength == 8 ? "443" : "80")
    }
}

/// Why a text is no website address.
package enum SiteProblem: Error, Equatable, Sendable {
    case empty, scheme, userInformation, wildcard, space, host, label, port, address, null

    /// Ends the sentence `"…" is not a website address: …`.
    package var sentence: String {
        switch self {
        case .empty: "it names no host."
        case .scheme: "it must begin with http:// or https://."
        case .userInformation: "user names and passwords do not belong in it."
        case .wildcard: "wildcards are not supported."
        case .space: "it has a space in it."
        case .host: "the host name is malformed."
        case .label: "a part of the host name is longer than 63 characters."
        case .port: "the port must be a number from 1 to 65535."
        case .address: "the IP address must be four decimal numbers, or IPv6 in brackets."
        case .null: "an opaque origin cannot be listed."
        }
    }
}
