// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP

/// A path with named parameters, such as `/v1/apps/{app}/security`.
struct PathPattern: Sendable, ExpressibleByStringLiteral {
    private enum Segment: Sendable {
        case literal(Substring)
        case parameter(String)
    }

    private let segments: [Segment]
    /// What every path of this pattern begins with.
    let literalPrefix: [UInt8]

    init(stringLiteral pattern: String) {
        segments = pattern.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}")
                ? .parameter(String(segment.dropFirst().dropLast())) : .literal(segment)
        }
        literalPrefix = Array(pattern.prefix { $0 != "{" }.utf8)
    }

    /// The parameters of `path`, or nil when it is another one.
    ///
    /// A parameter is one non-empty segment of unreserved characters (RFC 3986 2.3): ids of ours need no escapes, and
    /// what has some is a different path.
    func parameters(of path: String) -> [String: String]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .literal(let literal):
                guard literal == part else { return nil }
            case .parameter(let name):
                guard !part.isEmpty, part.utf8.allSatisfy(\.isUnreserved) else { return nil }
                parameters[name] = String(part)
            }
        }
        return parameters
    }
}
