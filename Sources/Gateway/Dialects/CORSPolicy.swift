// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A route's CORS settings and the pure decisions made from them (architecture §4).
package struct CORSPolicy: Sendable, Equatable {
    package var allowsCredentials: Bool
    package var maxAge: Duration
    /// Request fields a page may send, lower case.
    package var allowHeaders: [String]
    /// Answer fields a page may read.
    package var exposeHeaders: [String]
    package var methods: [String]

    package init(
        allowsCredentials: Bool,
        maxAge: Duration,
        allowHeaders: [String],
        exposeHeaders: [String],
        methods: [String]
    ) {
        self.allowsCredentials = allowsCredentials
        self.maxAge = maxAge
        self.allowHeaders = allowHeaders
        self.exposeHeaders = exposeHeaders
        self.methods = methods
    }

    /// The answer to a preflight whose origin the index lists, or does not, for the route's organizations.
    ///
    /// nil `policy`: the route has no CORS settings.
    package func preflight(
        origin: String,
        isListed: Bool,
        requestedMethod: String,
        requestedHeaders: [String]
    )
        -> PreflightAnswer
    {
        .refused
    }

    /// The fields to add to an answer of the upstream for a listed origin, besides dropping the upstream's own.
    package func answerFields(origin: String) -> [HeaderField] { [] }

    /// The fields on an answer for an unlisted origin, or none at all: no allow field, but caches must know.
    package static let unlistedAnswerFields = [HeaderField(name: "vary", value: "Origin")]

    /// The fields on a refusal the gateway itself makes, readable by any http(s) page, never with credentials.
    package static func refusalFields(origin: String?) -> [HeaderField] { [] }

    /// Whether a field of an upstream's answer must be dropped because CORS is the gateway's to decide.
    package static func isUpstreamCORSField(_ name: Span<UInt8>) -> Bool { false }
}

/// What a preflight gets.
package enum PreflightAnswer: Sendable, Equatable {
    /// 204 with these fields.
    case allowed([HeaderField])
    /// 403 `origin_not_allowed`, rendered by the dialect with the CORS fields of a refusal.
    case refused
}
