// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// How an origin is read, step by step: for `origins check`.
///
/// The outcome is the normaliser's own.
struct OriginReading {
    let steps: [(step: String, result: String)]
    let outcome: Result<String, SiteProblem>

    init(_ written: String) {
        let outcome = SiteNormalizer.origin(adding: written)
        var steps: [(step: String, result: String)] = [("as written", written)]
        var text = written
        func take(_ step: String, _ next: String) {
            guard next != text else { return }
            text = next
            steps.append((step, next))
        }
        take("white space around it dropped", Self.trimmed(text))
        take("path, query and fragment dropped", Self.withoutPath(text))
        take("scheme and host in lower case", text.lowercased())
        take("trailing dot of the host dropped", Self.withoutDot(text))
        take("default port dropped", Self.withoutDefaultPort(text))
        if case .success(let origin) = outcome {
            take(text.utf8.allSatisfy { $0 < 0x80 } ? "host in canonical form" : "name in punycode", origin)
            steps.append(("compared as", origin))
        }
        self.steps = steps
        self.outcome = outcome
    }

    private static func trimmed(_ text: String) -> String {
        var rest = text[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }

    private static func withoutPath(_ text: String) -> String {
        guard let slashes = text.firstRange(of: "://"),
            let end = text[slashes.upperBound...].firstIndex(where: { "/?#".contains($0) })
        else { return text }
        return String(text[..<end])
    }

    private static func withoutDot(_ text: String) -> String {
        if text.hasSuffix(".") { return String(text.dropLast()) }
        guard let colon = text.firstRange(of: ".:") else { return text }
        return String(text[..<colon.lowerBound]) + text[text.index(after: colon.lowerBound)...]
    }

    private static func withoutDefaultPort(_ text: String) -> String {
        let pairs = [("http://", ":80"), ("https://", ":443")]
        for (scheme, port) in pairs where text.hasPrefix(scheme) && text.hasSuffix(port) {
            return String(text.dropLast(port.count))
        }
        return text
    }
}
