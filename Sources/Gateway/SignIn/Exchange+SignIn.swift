// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Buffers
import Credentials
import HTTP
import Store
import Telemetry
import Transport

extension Exchange {
    /// The head of an answer to a sign-in has come; true: it is held until the answer is complete.
    func holdsAnswer() -> Bool {
        guard let attempt = facts.signIn, let grant = attempt.grant else { return false }
        guard (200..<300).contains(response.status) else {
            // The upstream said no: the sign-in was not completed (OFF-113).
            worker.signIn.giveBack(grant, facts.decision.text)
            if response.status == 304, attempt.readsAnswer { noteUntouched(attempt, "status") }
            return false
        }
        guard attempt.readsAnswer else { return false }
        guard AnswerSplice.mayHold(response.status) else {
            noteUntouched(attempt, "status")
            return false
        }
        guard response.isPlainJSON else {
            noteUntouched(attempt, "not_json")
            return false
        }
        if case .length(let length) = response.framing, length > UInt64(AnswerSplice.mostBytes) {
            noteUntouched(attempt, "too_long")
            return false
        }
        attempt.held = HeldAnswer()
        return true
    }

    /// Part of a held answer; false: it has become too long, and what came so far goes out as it is.
    func holdMore(_ bytes: Span<UInt8>, _ held: HeldAnswer) -> Bool {
        guard !held.append(bytes) else { return true }
        if let attempt = facts.signIn {
            attempt.held = nil
            noteUntouched(attempt, "too_long")
        }
        releaseHeld(held.bytes)
        return false
    }

    /// The held answer is complete and the upstream let go: it is told the verdict, its tokens are bound, it goes out.
    func finishHeld(_ held: HeldAnswer) {
        guard let attempt = facts.signIn, let grant = attempt.grant else { return }
        attempt.held = nil
        let bytes = held.bytes
        let told = grant.isTold ? grant.verdict?.json : nil
        guard bytes.count > AnswerSplice.mostOnLoop else {
            return heldWasRead(SplicedAnswer.read(bytes, attestation: told), bytes, attempt, grant)
        }
        let generation = generation
        let pool = worker.proofs.pool
        Task { @Reactor in
            let answer = await pool.run { SplicedAnswer.read(bytes, attestation: told) }
            guard self.generation == generation, stage == .answering else { return }
            heldWasRead(answer, bytes, attempt, grant)
        }
    }

    private func heldWasRead(
        _ result: Result<SplicedAnswer, SpliceFault>,
        _ bytes: [UInt8],
        _ attempt: SignInAttempt,
        _ grant: SignInGrant
    ) {
        let read: SplicedAnswer
        switch result {
        case .success(let answer): read = answer
        case .failure(let fault):
            noteUntouched(attempt, fault.rawValue)
            releaseHeld(bytes)
            return endHeld()
        }
        let splice = read.splice
        let answer = spliced(read.body)
        worker.metrics.signInsSpliced.increment()
        guard let tokens = attempt.tokensToBind(in: splice, grant, now: worker.state.clock.now) else {
            // To try again would not make it shorter.
            let refusal = Refusal(
                .upstreamInvalid,
                reason: "token_too_long",
                nextSteps: ["Have the upstream make tokens of \(SessionBindings.mostBytes) bytes at most."]
            )
            _ = worker.pipeline.refuse(self, refusal)
            return
        }
        guard !tokens.isEmpty else { return respond(answer) }
        let generation = generation
        let sessions = worker.signIn.sessions
        let now = worker.state.clock.now
        Task { @Reactor in
            var isBound = true
            for token in tokens {
                do throws(StoreError) {
                    try await sessions.bind(token.text, as: token.use, to: token.session, now: now)
                } catch {
                    isBound = false
                }
            }
            guard self.generation == generation, stage == .answering else { return }
            // A token that nobody would know again must not reach the client.
            if isBound { respond(answer) } else { _ = worker.pipeline.refuse(self, .stateAway) }
        }
    }

    /// Fields of the request that the upstream does not get.
    ///
    /// An answer that is spliced must come without a content coding.
    func withheldRequestFields(_ route: Route) -> KnownFieldSet {
        var withheld = route.withheldFields
        if facts.signIn?.readsAnswer == true { withheld.insert(.acceptEncoding) }
        if ForwardCount(request) != .uncounted { withheld.insert(.maxForwards) }
        // Outside a handshake it asks for nothing, and could carry a token that nobody judged.
        if request.upgrade != .webSocket { withheld.insert(.secWebSocketProtocol) }
        return withheld
    }

    /// What the upstream learns of a sign-in: the app, how it was proved, and what that is worth.
    func appendSignInFields(_ route: Route, to buffer: inout ByteBuffer) {
        guard let attempt = facts.signIn, let grant = attempt.grant else { return }
        if attempt.readsAnswer { buffer.append("Accept-Encoding: identity\r\n") }
        guard facts.admission == nil else { return }
        buffer.append(contentsOf: grant.app.upstreamFields(route.settings.dialect))
        buffer.append("Sallyport-Credential: ")
        buffer.append(utf8: grant.credential)
        buffer.append("\r\n")
        guard let verdict = grant.verdict else { return }
        buffer.append("Sallyport-Trust: ")
        buffer.append(utf8: verdict.trust.rawValue)
        buffer.append("\r\nSallyport-Attestation: ")
        buffer.append(utf8: verdict.status)
        buffer.append("\r\n")
        guard let reason = verdict.reason else { return }
        buffer.append("Sallyport-Attestation-Reason: ")
        buffer.append(utf8: reason.rawValue)
        buffer.append("\r\n")
    }

    /// What the sign-in proved, on every answer that says that it succeeded: `data.attestation` is ours
    /// only where it says the same.
    var verdictFields: [HeaderField] {
        guard let grant = facts.signIn?.grant, grant.isTold, (200..<300).contains(response.status) else { return [] }
        return grant.verdict?.answerFields ?? []
    }

    /// What we add to an answer that goes out as one of our own.
    private var addedAnswerFields: [HeaderField] {
        guard let route = facts.route else { return [] }
        var fields = verdictFields
        if facts.isOriginListed {
            fields.append(HeaderField(name: "access-control-allow-origin", value: request.text(of: .origin)))
            fields += route.settings.cors?.fixedAnswerFields.filter { $0 != CORSPolicy.vary } ?? []
        }
        return fields + route.vary + budgetFields + route.settings.responseHeaders.replaced
    }

    /// The upstream's head with another body behind it.
    private func spliced(_ body: [UInt8]) -> LocalAnswer {
        dropAnswerFields()
        var fields = response.relayedFields(
            skipping: response.fieldsNotRelayed.union(withheldAnswerFields).union([.contentLength, .date])
        )
        if facts.signIn?.grant?.isTold == true {
            fields.removeAll { AnswerSplice.untrueFields.contains($0.name) }
            for index in fields.indices where fields[index].name == "etag" {
                fields[index].value = AnswerSplice.entityTag(fields[index].value)
            }
        }
        fields += addedAnswerFields
        return LocalAnswer(status: response.status, fields: fields, body: body)
    }

    /// An answer that passes untouched is counted and in the access log: the client misses its verdict.
    ///
    /// The log of the process tells of the first in a minute: the upstream's fault is the same for all.
    private func noteUntouched(_ attempt: SignInAttempt, _ reason: String) {
        worker.metrics.signInsUntouched.increment()
        facts.reason = facts.reason ?? "untouched_\(reason)"
        let route = facts.route?.settings.name ?? ""
        guard worker.signIn.untouchedTold.isDue("\(route) \(reason)", at: worker.loop.now) else { return }
        worker.environment.log.warning(
            "the answer of a sign-in passed untouched",
            [
                "route": route, "endpoint": attempt.endpoint.rawValue, "reason": reason,
                "decision": facts.decision.text,
            ]
        )
    }
}

/// A held answer as it was read: what is in it, and the body that goes out.
private struct SplicedAnswer: Sendable {
    let splice: AnswerSplice
    let body: [UInt8]

    /// Reads one; `attestation`: what its `data.attestation` is to be, if anything.
    static func read(_ bytes: [UInt8], attestation: [UInt8]?) -> Result<SplicedAnswer, SpliceFault> {
        Result { () throws(SpliceFault) in
            let splice = try AnswerSplice(bytes)
            return SplicedAnswer(splice: splice, body: attestation.map { splice.setting(attestation: $0) } ?? bytes)
        }
    }
}

extension ResponseHead {
    /// Whether the body is JSON without a content coding.
    fileprivate var isPlainJSON: Bool {
        let coding = fields.first(.contentEncoding)?.validText ?? ""
        let type = fields.first(.contentType)?.validText ?? ""
        return MediaTypeCheck.isPlainJSON(contentType: type, contentEncoding: coding)
    }

    /// The fields that go on, names in lower case.
    fileprivate func relayedFields(skipping skipped: KnownFieldSet) -> [HeaderField] {
        var relayed: [HeaderField] = []
        for index in 0..<fields.count where !fields.isDropped(at: index) && !skipped.contains(fields.field(at: index)) {
            let name = fields.name(at: index).lossyText
            let value = fields.value(at: index).lossyText
            relayed.append(HeaderField(name: name.lowercased(), value: value))
        }
        return relayed
    }
}
