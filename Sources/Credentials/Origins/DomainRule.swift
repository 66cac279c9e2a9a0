// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// What a web sign-in's domain is worth (APP-043 order).
package enum DomainVerdict: Sendable, Equatable {
    case allowed
    case notConfigured
    case notAllowed
    case originMismatch
}

/// Compares a presented domain and `Origin` with the listed domains.
enum DomainRule {
    /// The web sign-in's rule: domain first, then the origin must name the same host and effective port.
    static func judge(domain: String?, origin: String?, listed: ByteSet) -> DomainVerdict {
        guard let domain, let asked = site(domain, tail: .dropped) else { return .notAllowed }
        let page = origin.flatMap { site($0, tail: .none) }
        guard isListed(asked, page: page, in: listed) else { return .notAllowed }
        if origin == nil { return .allowed }
        guard let page, let scheme = page.scheme, page.host == asked.host,
            (page.port ?? scheme.defaultPort) == (port(of: asked) ?? scheme.defaultPort)
        else { return .originMismatch }
        return .allowed
    }

    private static func isListed(_ asked: Site, page: Site?, in listed: ByteSet) -> Bool {
        if listed.contains(asked.host.utf8.span) { return true }
        if let port = port(of: asked) { return listed.contains("\(asked.host):\(port)".utf8.span) }
        // APP-052: a kept :443 matches a portless domain only when the origin gives that port.
        guard let page, let scheme = page.scheme, page.host == asked.host else { return false }
        return listed.contains("\(asked.host):\(page.port ?? scheme.defaultPort)".utf8.span)
    }

    /// The port that counts: a default written with its scheme is none.
    private static func port(of site: Site) -> UInt16? {
        site.port == site.scheme?.defaultPort ? nil : site.port
    }

    private static func site(_ text: String, tail: Site.Tail) -> Site? {
        guard
            case .success(let site) = Result(catching: { () throws(SiteProblem) in
                try SiteNormalizer.parse(text, tail: tail)
            })
        else { return nil }
        return site
    }

    /// Whether a page of this origin, in normal form, is on a listed domain; allocates nothing.
    static func isListed(normalOrigin origin: Span<UInt8>, in listed: ByteSet) -> Bool {
        let isSecure = origin.starts("https://")
        guard isSecure || origin.starts("http://") else { return false }
        let authority = origin.extracting((isSecure ? 8 : 7)..<origin.count)
        var colon = authority.count
        while colon > 0, authority[colon - 1] != UInt8(ascii: ":"), authority[colon - 1] != UInt8(ascii: "]") {
            colon -= 1
        }
        guard colon > 0, authority[colon - 1] == UInt8(ascii: ":") else {
            return listed.contains(authority) || listed.contains(authority, followedBy: isSecure ? ":443" : ":80")
        }
        return listed.contains(authority.extracting(0..<(colon - 1))) || listed.contains(authority)
    }
}
