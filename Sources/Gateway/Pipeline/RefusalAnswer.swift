// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP
import Store
import Transport

/// Makes refusals, and answers to malformed requests, into answers that a page may read.
@Reactor
enum RefusalAnswer {
    /// The route's dialect renders it; before a route is known, the neutral shape of dialect A.
    static func make(_ refusal: Refusal, _ exchange: Exchange, extra: [HeaderField]) -> LocalAnswer {
        var refusal = refusal
        if refusal.appID == nil, exchange.facts.dialect == .offlineid { refusal.appID = named(by: exchange) }
        let rendered = DialectTable.render(
            refusal,
            dialect: exchange.facts.dialect,
            request: request(of: exchange)
        )
        let origin = exchange.request.fields.contains(.origin) ? exchange.request.text(of: .origin) : nil
        return LocalAnswer(
            status: rendered.status,
            fields: rendered.fields + extra + CORSPolicy.refusalFields(origin: origin),
            body: rendered.body
        )
    }

    /// A malformed request gets its status, the stable word for why, and a closed connection.
    static func make(_ violation: HTTPViolation, _ exchange: Exchange) -> LocalAnswer {
        LocalAnswer(
            status: violation.status,
            fields: [
                HeaderField(name: "content-type", value: "application/json"),
                HeaderField(name: "cache-control", value: "no-store"),
                HeaderField(name: "sallyport-decision", value: exchange.facts.decision.text),
            ],
            body: OfflineAnswers.body(violation, documentation: exchange.worker.snapshot.settings.documentation),
            closesConnection: true
        )
    }

    /// OFF-130: a refusal tells the App ID as the request named it, whoever refused and however early; nil if none.
    private static func named(by exchange: Exchange) -> AppID? {
        guard !exchange.request.fields.isRepeated(.xAppID) else { return nil }
        let name = exchange.request.text(of: .xAppID)
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        return AppID(rawValue: name)
    }

    private static func request(of exchange: Exchange) -> RefusalRequest {
        RefusalRequest(
            method: exchange.request.methodText,
            path: exchange.request.pathText,
            wantsProblemDocument: accepts(exchange, "application/problem+json"),
            isGRPC: exchange.request.text(of: .contentType).hasPrefix("application/grpc"),
            decision: exchange.facts.decision.text,
            now: exchange.worker.state.clock.now,
            documentation: exchange.worker.snapshot.settings.documentation
        )
    }

    private static func accepts(_ exchange: Exchange, _ type: String) -> Bool {
        exchange.request.text(of: .accept).split(separator: ",").contains { entry in
            entry.split(separator: ";").first.map { $0.withoutSurroundingSpaces.lowercased() == type } ?? false
        }
    }
}

/// Sends a clear-text request to the same place over https.
@Reactor
enum RedirectAnswer {
    /// 308 keeps method and body (RFC 9110 15.4.9).
    static func make(_ exchange: Exchange, port: UInt16) -> LocalAnswer {
        let host = exchange.request.hostText
        let target = exchange.request.targetText
        let authority = port == 443 ? host : "\(host):\(port)"
        return LocalAnswer(
            status: 308,
            fields: [
                HeaderField(name: "location", value: "https://\(authority)\(target == "*" ? "/" : target)"),
                HeaderField(name: "cache-control", value: "no-store"),
            ]
        )
    }
}

extension Substring {
    /// The text without spaces and tabs around it.
    var withoutSurroundingSpaces: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
