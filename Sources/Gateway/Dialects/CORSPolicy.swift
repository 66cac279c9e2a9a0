// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// A route's CORS settings and the pure decisions made from them (architecture §4).
package struct CORSPolicy: Sendable, Equatable {
    package let allowsCredentials: Bool
    /// What every answer to a listed origin carries besides the origin itself; made once.
    package let fixedAnswerFields: [HeaderField]
    private let allowHeaders: [String]
    private let methods: [String]
    private let maxAge: String

    /// `allowHeaders` and `methods` are what a preflight may ask for; `exposeHeaders` is what a page may read.
    package init(
        allowsCredentials: Bool,
        maxAge: Duration,
        allowHeaders: [String],
        exposeHeaders: [String],
        methods: [String]
    ) {
        self.allowsCredentials = allowsCredentials
        self.allowHeaders = allowHeaders.map { $0.lowercased() }
        self.methods = methods
        self.maxAge = String(maxAge.components.seconds)
        var fields: [HeaderField] = []
        if allowsCredentials { fields.append(HeaderField(name: "access-control-allow-credentials", value: "true")) }
        if !exposeHeaders.isEmpty {
            fields.append(
                HeaderField(name: "access-control-expose-headers", value: exposeHeaders.joined(separator: ", "))
            )
        }
        fields.append(Self.vary)
        self.fixedAnswerFields = fields
    }

    /// The answer to a preflight; `isListed`: an organization of the route has an app that lists the origin.
    ///
    /// An origin that is not listed gets its preflight too, without credentials and not to be remembered: only then
    /// does the browser send the request whose refusal tells the page why. That request is judged like any other.
    ///
    /// Fields beyond the allowed ones are left out rather than refused: the browser then refuses, and says which.
    package func preflight(
        origin: String,
        isListed: Bool,
        requestedMethod: String,
        requestedHeaders: [String]
    ) -> PreflightAnswer {
        guard isListed || Self.isReadable(origin) else { return .refused }
        var fields = [
            HeaderField(name: "access-control-allow-origin", value: origin),
            HeaderField(name: "access-control-allow-methods", value: methods.joined(separator: ", ")),
            HeaderField(name: "access-control-max-age", value: isListed ? maxAge : "0"),
            HeaderField(
                name: "vary",
                value: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
            ),
        ]
        let allowed = requestedHeaders.map { $0.lowercased() }.filter(allowHeaders.contains)
        if !allowed.isEmpty {
            fields.append(HeaderField(name: "access-control-allow-headers", value: allowed.joined(separator: ", ")))
        }
        if allowsCredentials, isListed {
            fields.append(HeaderField(name: "access-control-allow-credentials", value: "true"))
        }
        return .allowed(fields)
    }

    /// The fields on an answer of the upstream to a listed origin; the upstream's own CORS fields are dropped.
    package func answerFields(origin: String) -> [HeaderField] {
        [HeaderField(name: "access-control-allow-origin", value: origin)] + fixedAnswerFields
    }

    /// Whether the origin is one of an http(s) page, as a browser writes it.
    private static func isReadable(_ origin: String) -> Bool {
        SiteNormalizer.origin(presented: origin) == .success(origin)
    }

    /// Caches must know that the answer depends on the origin, also where the origin is not listed or absent.
    package static let vary = HeaderField(name: "vary", value: "Origin")

    /// The fields on a refusal the gateway itself makes: any http(s) page may read why, never with credentials.
    ///
    /// The origin is echoed only in its normal form, or as the browser wrote it when that is the same.
    package static func refusalFields(origin: String?) -> [HeaderField] {
        guard let origin, isReadable(origin) else { return [vary] }
        return [
            HeaderField(name: "access-control-allow-origin", value: origin),
            HeaderField(
                name: "access-control-expose-headers",
                value: "Retry-After, RateLimit, RateLimit-Policy, Sallyport-Decision, WWW-Authenticate"
            ),
            vary,
        ]
    }
}

/// What a preflight gets.
package enum PreflightAnswer: Sendable, Equatable {
    /// 204 with these fields.
    case allowed([HeaderField])
    /// 403 `origin_not_allowed`, rendered by the dialect with the CORS fields of a refusal.
    case refused
}
