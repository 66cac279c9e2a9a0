// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Limits
import Store
import Telemetry
import Transport

/// Judges requests: the phases in order, each answering *proceed*, *answered* or *wait*.
///
/// Isolated to the Reactor. A phase that must wait (the first sight of an app, an exact window) starts its work and
/// returns `wait`; `resume` runs the same phase again once the answer is there. Nothing is remembered from one request
/// to the next: each is judged by its own head.
@Reactor
final class RequestPipeline {
    /// The questions, in the order they are asked.
    enum Phase {
        case matchRoute, answerPreflight, guardClient
        /// Of an endpoint of the gateway's own.
        case gatherBody, answerLocally
        case identifyApp, checkCredential, checkPerson, spendBudget
        /// On a sign-in path.
        case judgeSignIn
        case handOff, forward
    }

    /// What a phase decided.
    enum Step {
        case proceed
        /// The exchange has its answer.
        case answered
        /// The exchange is resumed later.
        case wait
    }

    let worker: Worker
    var waiting = WaitingExchanges()
    /// Holds one path at a time while its policy looks at it.
    var scratch = ByteBuffer()
    /// Holds the state of one request's windows at a time while it is written.
    var budgetState: [UInt8] = []
    let failures = FailureBudget()

    init(worker: Worker) {
        self.worker = worker
    }

    /// Runs phases from the exchange's present one until it is forwarded, answered or has to wait.
    func advance(_ exchange: Exchange) {
        while true {
            let step: Step
            let next: Phase
            switch exchange.facts.phase {
            case .matchRoute:
                step = matchRoute(exchange)
                next = .answerPreflight
            case .answerPreflight:
                step = answerPreflight(exchange)
                next = .guardClient
            case .guardClient:
                step = guardClient(exchange)
                next = exchange.facts.local == nil ? .identifyApp : .spendBudget
            case .gatherBody:
                step = gatherBody(exchange)
                next = .answerLocally
            case .answerLocally:
                step = answerLocally(exchange)
                next = .identifyApp
            case .identifyApp:
                step = identifyApp(exchange)
                next = .checkCredential
            case .checkCredential:
                step = checkCredential(exchange)
                next = .checkPerson
            case .checkPerson:
                step = checkPerson(exchange)
                next = .spendBudget
            case .spendBudget:
                step = spendBudget(exchange)
                next = exchange.phaseAfterBudget
            case .judgeSignIn:
                step = judgeSignIn(exchange)
                next = .handOff
            case .handOff:
                step = handOff(exchange)
                next = .forward
            case .forward:
                return exchange.facts.check == nil ? sendOn(exchange) : answerCheck(exchange)
            }
            guard step == .proceed else { return }
            exchange.facts.phase = next
        }
    }

    /// Runs the waiting phase of an exchange again, unless the exchange has ended meanwhile.
    func resume(_ exchange: Exchange, generation: UInt64, isAnswered: Bool) {
        guard exchange.generation == generation, exchange.stage == .judging else { return }
        guard isAnswered else {
            _ = refuse(exchange, .stateAway)
            return
        }
        advance(exchange)
    }

    // MARK: Answers

    /// Answers with a refusal in the route's dialect; `logged` is the reason that only we are to know.
    func refuse(
        _ exchange: Exchange,
        _ refusal: Refusal,
        outcome: Outcome = .refused,
        logged: String? = nil,
        extra: [HeaderField] = []
    ) -> Step {
        exchange.facts.outcome = outcome
        exchange.facts.reason = logged ?? refusal.reason ?? refusal.code.rawValue
        worker.metrics.countRefusal(refusal.code)
        if refusal.code.status == 401 || refusal.code.status == 403 {
            failures.failed(exchange.facts.client, at: worker.loop.now)
        }
        let isGuest = exchange.facts.route?.isGuestSignIn(exchange) == true
        exchange.respond(RefusalAnswer.make(isGuest ? refusal.askingForAppToken : refusal, exchange, extra: extra))
        return .answered
    }

    /// Answers for an upstream that gave no answer.
    func answer(_ failure: UpstreamFailure, _ exchange: Exchange) {
        exchange.facts.outcome = .failed
        exchange.facts.reason = failure.reason
        worker.metrics.countRefusal(failure.refusal)
        var refusal = Refusal(failure.refusal, reason: failure.reason)
        refusal.proxyError = failure.proxyError
        exchange.respond(RefusalAnswer.make(refusal, exchange, extra: []))
    }

    /// Answers a request that is ended before the upstream answered.
    func end(_ exchange: Exchange, _ ending: StreamEnding) {
        let refusal =
            switch ending {
            case .revoked: Refusal(.appTokenInvalid)
            case .expired: Refusal(.appTokenInvalid, reason: "expired")
            case .goingAway: Refusal(.stateUnavailable, reason: ending.rawValue, retryAfter: 1)
            }
        _ = refuse(exchange, refusal, logged: ending.rawValue)
    }

    /// The body outgrew the route's limit on its way.
    func bodyTooLarge(_ exchange: Exchange) {
        guard let route = exchange.facts.route else { return }
        if exchange.stage == .answering { return exchange.cutAnswer(route.bodyTooLarge) }
        _ = refuse(exchange, route.bodyTooLarge)
    }

    /// The body outgrew what its reader takes.
    func gatheredTooMuch(_ exchange: Exchange, most: Int) {
        _ = bodyTooLong(exchange, most: most)
    }

    /// Answers a malformed request.
    func refuse(_ exchange: Exchange, _ violation: HTTPViolation) {
        exchange.facts.outcome = .rejected
        exchange.facts.reason = violation.rawValue
        worker.metrics.countParseError(status: violation.status)
        exchange.respond(RefusalAnswer.make(violation, exchange))
    }
}
