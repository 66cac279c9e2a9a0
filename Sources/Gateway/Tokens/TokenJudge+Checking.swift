// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Store
import Transport

/// What became of a token that was presented.
enum TokenStep {
    case known(TokenKnowledge)
    /// Its check waits for its turn.
    case queued
    /// The client's network has enough tokens waiting.
    case shareSpent
    /// Nobody's token may wait any more.
    case full
}

extension TokenJudge {
    /// What is known of a token, which may be anything; allocates nothing for one that was seen before.
    ///
    /// One that was not is checked at once while there is time for checks in this turn, else in its turn: `waiter` then
    /// hears of it.
    func judge(
        _ token: Span<UInt8>,
        as use: TokenUse,
        from client: IPAddress,
        now: Int64,
        waiter: () -> TokenQueue.Waiter
    ) -> TokenStep {
        if let known = seen(token, as: use, now: now) { return .known(known) }
        // What was seen before was looked at then.
        guard TokenRange.isOneWord(token) else { return .known(.bad(.malformed)) }
        if queue.isEmpty, budget.mayCheck(at: MonotonicInstant.readClock()) {
            let knowledge = check(token, as: use, now: now)
            return parks(token, as: use, from: client.network, knowledge, waiter) ? .queued : .known(knowledge)
        }
        let bytes = token.indices.map { token[$0] }
        switch queue.enter(bytes, as: use, from: client.network, waiter()) {
        case .queued:
            backlog.begin { self.checkQueued() }
            return .queued
        case .shareSpent: return .shareSpent
        case .full: return .full
        }
    }

    /// What is known of a token that was seen before, which may be anything.
    func seen(_ token: Span<UInt8>, as use: TokenUse, now: Int64) -> TokenKnowledge? {
        keepUp(with: now)
        let outcome =
            switch use {
            case .application: application.outcome(for: token, now: now)
            case .person: persons.outcome(for: token, now: now)
            }
        switch outcome {
        case .good(let token): return .good(token)
        case .bad(let fault): return .bad(fault)
        case nil: return nil
        }
    }

    /// Checks what waits, in order, while there is time for checks.
    private func checkQueued() {
        // The waiters may present other tokens: those wait behind.
        while !queue.isEmpty, budget.mayCheck(at: MonotonicInstant.readClock()), let flight = queue.next() {
            let now = clock.now
            let token = flight.token
            let knowledge = seen(token.span, as: flight.use, now: now) ?? check(token.span, as: flight.use, now: now)
            let waiters = flight.waiters
            let tell: TokenQueue.Waiter = { knowledge in for waiter in waiters { waiter(knowledge) } }
            if !parks(token.span, as: flight.use, from: flight.network, knowledge, { tell }) { tell(knowledge) }
        }
        if queue.isEmpty { backlog.end() }
    }

    private func check(_ token: Span<UInt8>, as use: TokenUse, now: Int64) -> TokenKnowledge {
        let start = MonotonicInstant.readClock()
        let knowledge: TokenKnowledge
        do throws(TokenFault) {
            let verified = VerifiedToken(try authority.verify(token, as: use, now: now))
            remember(token, as: use, verified, now: now)
            knowledge = .good(verified)
            onCheck?(true)
        } catch {
            remember(token, as: use, error, now: now)
            knowledge = .bad(error)
            onCheck?(false)
        }
        budget.spent(from: start, to: MonotonicInstant.readClock())
        return knowledge
    }

    /// A token of an issuer that has just changed its keys is no bad token: it waits a moment for the new key set.
    private func parks(
        _ token: Span<UInt8>,
        as use: TokenUse,
        from network: ClientNetwork,
        _ knowledge: TokenKnowledge,
        _ waiter: () -> TokenQueue.Waiter
    ) -> Bool {
        guard case .bad(.unknownKey) = knowledge, let follower,
            let issuer = authority.issuerMissingKey(of: token, as: use)
        else { return false }
        switch parking.enter(issuer, from: network, at: loop.now) {
        case .waits: break
        case .asks:
            follower.keyMissing(of: issuer)
            return false
        case .refused: return false
        }
        let bytes = token.indices.map { token[$0] }
        let waiter = waiter()
        Task { @Reactor in
            let end = loop.now.advanced(by: TokenParking.wait)
            var knowledge = knowledge
            // The set that comes may be one that was fetched before this key was made: then the next is asked for.
            while case .bad(.unknownKey) = knowledge,
                await follower.newKeys(of: issuer, within: end.duration(since: loop.now))
            {
                let now = clock.now
                knowledge = seen(bytes.span, as: use, now: now) ?? check(bytes.span, as: use, now: now)
            }
            parking.leave()
            waiter(knowledge)
        }
        return true
    }

    private func remember(_ token: Span<UInt8>, as use: TokenUse, _ verified: VerifiedToken, now: Int64) {
        switch use {
        case .application: application.remember(token, verified, until: verified.facts.expiresAt, now: now)
        case .person: persons.remember(token, verified, until: verified.facts.expiresAt, now: now)
        }
    }

    private func remember(_ token: Span<UInt8>, as use: TokenUse, _ fault: TokenFault, now: Int64) {
        switch use {
        case .application: application.remember(token, fault, now: now)
        case .person: persons.remember(token, fault, now: now)
        }
    }
}
