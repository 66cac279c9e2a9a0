// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

/// What `Max-Forwards` lets an OPTIONS do (RFC 9110 7.6.2); other methods carry the field as any other, and TRACE is no
/// route's to take.
enum ForwardCount: Equatable {
    /// No count, or a method that is not counted.
    case uncounted
    /// The request goes on with this many forwards left.
    case left(Int)
    /// The request has come as far as it may: we answer it.
    case spent
    case malformed

    /// A longer way than this nobody asks about, so a larger number says no more.
    static let most = 255

    /// Reads the field of a request.
    init(_ request: borrowing RequestHead) {
        guard request.fields.contains(.maxForwards), request.method == .options else {
            self = .uncounted
            return
        }
        guard !request.fields.isRepeated(.maxForwards), let digits = request.fields.first(.maxForwards),
            digits.count > 0
        else {
            self = .malformed
            return
        }
        var number = 0
        for index in digits.indices {
            guard digits[index].isASCIIDigit else {
                self = .malformed
                return
            }
            number = min(number * 10 + Int(digits[index] - 0x30), Self.most + 1)
        }
        self = number == 0 ? .spent : .left(number - 1)
    }

    /// Appends the field as it goes on.
    func append(to buffer: inout ByteBuffer) {
        guard case .left(let count) = self else { return }
        HeadWriter.appendField("Max-Forwards", count, to: &buffer)
    }
}

extension RequestPipeline {
    /// Sends an admitted request on, unless it has come as far as it may.
    func sendOn(_ exchange: Exchange) {
        switch ForwardCount(exchange.request) {
        case .uncounted, .left: exchange.forward()
        case .spent: exchange.respond(LastHopAnswer.make(exchange))
        case .malformed:
            let steps = ["Send Max-Forwards once, as a number."]
            _ = refuse(exchange, Refusal(.badRequest, reason: "malformed_max_forwards", nextSteps: steps))
        }
    }

    /// No route takes the request; where its method is why, the answer says so.
    func refuseUnrouted(_ exchange: Exchange) -> Step {
        guard exchange.request.isEcho else { return refuse(exchange, Refusal(.routeNotFound)) }
        let refusal = Refusal(.methodNotAllowed, nextSteps: ["Use one of \(Route.methodsTaken)."])
        return refuse(exchange, refusal, extra: [HeaderField(name: "allow", value: Route.methodsTaken)])
    }
}

/// The answer of the last hop to OPTIONS: what the route takes.
@Reactor
private enum LastHopAnswer {
    static func make(_ exchange: Exchange) -> LocalAnswer {
        let listed = exchange.facts.route?.settings.match.methods ?? []
        return LocalAnswer(
            status: 204,
            fields: [
                HeaderField(name: "allow", value: listed.isEmpty ? Route.methodsTaken : listed.joined(separator: ", ")),
                HeaderField(name: "cache-control", value: "no-store"), CORSPolicy.vary,
                HeaderField(name: "sallyport-decision", value: exchange.facts.decision.text),
            ]
        )
    }
}

extension RequestHead {
    /// Whether the method asks for the request itself.
    var isEcho: Bool { Route.isEcho(methodBytes) }
}
