// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

extension RequestPipeline {
    /// Puts the request that is asked about in the place of the one that asks; the phases then judge it as any other.
    ///
    /// nil: that was done. The asking proxy is one of ours, since only listeners that name `check` answer, so what it
    /// says of its client is believed.
    func takeDescribed(_ exchange: Exchange) -> Step? {
        let asksWithHead = exchange.request.method == .head
        let isByPath = exchange.request.describesByPath
        scratch.removeAll()
        guard exchange.request.appendDescribed(to: &scratch) else {
            let steps = ["Describe the request in X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri."]
            return refuse(exchange, Refusal(.badRequest, reason: "check_describes_nothing", nextSteps: steps))
        }
        var parser = RequestParser(limits: worker.snapshot.parserLimits)
        do throws(HTTPViolation) {
            let progress = try scratch.withBytes { bytes throws(HTTPViolation) in
                try parser.parse(bytes, into: &exchange.request)
            }
            guard case .head(let consumed) = progress, consumed == scratch.count else {
                throw .malformedStartLine
            }
        } catch {
            refuse(exchange, error)
            return .answered
        }
        exchange.facts.check = CheckQuestion(
            // Envoy takes nothing but 200 for a yes.
            yes: isByPath ? 200 : 204,
            leavesBodyOut: asksWithHead != (exchange.request.method == .head)
        )
        if let connection = exchange.facts.connection {
            let trusted = worker.snapshot.trustedProxies
            let client = exchange.request.client(behind: connection.peer, trusted: trusted)
            exchange.facts.client = client
            exchange.facts.clientText = client.description
        }
        return nil
    }

    /// The request that was asked about may pass: the fields that an upstream would get say for whom.
    func answerCheck(_ exchange: Exchange) {
        exchange.facts.outcome = .admitted
        let status = exchange.facts.check?.yes ?? 204
        exchange.respond(LocalAnswer(status: status, fields: exchange.facts.judgementFields))
    }
}

/// The question of another proxy about a request.
struct CheckQuestion {
    /// The status that says that it may pass.
    let yes: Int
    /// One of the two requests is HEAD and the other is not: without a body both agree on the answer's length.
    let leavesBodyOut: Bool
}

extension ExchangeFacts {
    /// What was judged, as fields of an answer to a proxy that asks.
    ///
    /// All of them, also those that are empty: a proxy that copies them replaces what a client has forged.
    fileprivate var judgementFields: [HeaderField] {
        let told = [
            ("decision", decision.text), ("organization", admission?.app.organization.rawValue),
            ("app", admission?.app.appID.rawValue), ("credential", admission?.kind.rawValue),
            ("trust", admission?.trust?.rawValue), ("person", admission?.person),
            ("identity", identity.map { String(decoding: $0, as: UTF8.self) }),
        ]
        return [HeaderField(name: "cache-control", value: "no-store")]
            + told.map { HeaderField(name: "sallyport-\($0.0)", value: $0.1 ?? "") }
    }
}
