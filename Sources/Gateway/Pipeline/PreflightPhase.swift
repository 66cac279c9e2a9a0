// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Transport

/// Answers CORS preflights: an OPTIONS with `Origin` and `Access-Control-Request-Method` (Fetch, CORS-preflight fetch).
@Reactor
enum PreflightPhase {
    static func answer(
        _ exchange: Exchange,
        _ policy: CORSPolicy,
        isListed: Bool,
        _ pipeline: RequestPipeline
    ) -> RequestPipeline.Step {
        let origin = exchange.request.text(of: .origin)
        if exchange.facts.check != nil {
            // The proxy that asks takes any yes for "let it pass": only a listed page's preflight is one.
            guard isListed else { return pipeline.refuse(exchange, unlisted(exchange, origin), outcome: .preflight) }
            pipeline.answerCheck(exchange)
            return .answered
        }
        let requested = exchange.request.text(of: .accessControlRequestHeaders)
        let answer = policy.preflight(
            origin: origin,
            isListed: isListed,
            requestedMethod: exchange.request.text(of: .accessControlRequestMethod),
            requestedHeaders: requested.split(separator: ",").map { $0.withoutSurroundingSpaces.lowercased() }
        )
        switch answer {
        case .allowed(let fields):
            exchange.facts.outcome = .preflight
            exchange.respond(LocalAnswer(status: 204, fields: fields))
            return .answered
        case .refused:
            return pipeline.refuse(exchange, unlisted(exchange, origin), outcome: .preflight)
        }
    }

    private static func unlisted(_ exchange: Exchange, _ origin: String) -> Refusal {
        .unlisted(origin: origin, dialect: exchange.facts.dialect)
    }
}

extension Exchange {
    /// Whether the request asks what a page may send, rather than sending it.
    var isPreflight: Bool {
        request.method == .options && request.fields.contains(.origin)
            && request.fields.contains(.accessControlRequestMethod)
    }
}
