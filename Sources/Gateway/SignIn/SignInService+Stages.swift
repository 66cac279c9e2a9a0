// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Limits
import Store
import Transport

/// What a sign-in is judged by, beside its body.
struct SignInContext: Sendable {
    let endpoint: SignInEndpoint
    let app: App
    let client: ClientNetwork
    /// Names the reservation: the decision id.
    let reservation: String
    let minimumTrust: Trust?
    let now: Int64

    var policy: SignInPolicy { SignInPolicy(app, minimumTrust: minimumTrust, now: now) }
}

extension SignInService {
    /// What becomes of a sign-in that only its body can let pass.
    func stage(
        of body: SignInBody,
        _ fallback: Refusal,
        _ context: SignInContext
    ) async -> SignInAttempt.Stage {
        do {
            if context.endpoint == .refresh {
                return try await renewal(by: body.refreshToken, fallback: fallback, context)
            }
            return try await settle(SignInDecision.first(body, at: context.endpoint, context.policy), body, context)
        } catch {
            return .refused(.stateAway)
        }
    }

    private func settle(
        _ decision: SignInDecision,
        _ body: SignInBody,
        _ context: SignInContext
    ) async throws(SignInFailure) -> SignInAttempt.Stage {
        switch decision {
        case .refuse(let refusal): return .refused(refusal)
        case .judge(let proof): return try await settle(judged(proof, body, context), body, context)
        case .accept(let verdict, let caps): return try await reserve(caps, for: verdict, context)
        }
    }

    private func judged(
        _ proof: SignInProof,
        _ body: SignInBody,
        _ context: SignInContext
    ) async throws(SignInFailure) -> SignInDecision {
        let policy = context.policy
        guard try await take(proof.challenge, for: context.app, in: .offlineid) else {
            return .refuse(.attestationFailed(.challengeInvalid, on: proof.platform, policy))
        }
        let verdict = try await verdict(
            on: proof.proof,
            over: ProofBinding(challenge: proof.challenge, appID: context.app.appID.rawValue, purpose: .signIn),
            for: context.app,
            in: .offlineid,
            now: context.now
        )
        guard let trust = verdict.trust else {
            let reason = verdict.reason ?? .malformed
            return .refuse(.attestationFailed(reason, on: proof.platform, of: verdict.package, policy))
        }
        if verdict.isDegraded, !policy.allowsDegraded {
            return .refuse(.attestationFailed(verdict.reason ?? .deviceCannotAttest, on: proof.platform, policy))
        }
        let counted = SignInVerdict(trust: trust, reason: verdict.reason)
        return .proved(counted, body, at: context.endpoint, policy)
    }

    private func reserve(
        _ caps: [SignInCap],
        for verdict: SignInVerdict?,
        _ context: SignInContext
    ) async throws(SignInFailure) -> SignInAttempt.Stage {
        let rules = caps.map { cap in
            CapRule(
                name: cap.rawValue,
                limit: cap.limit,
                network: cap == .degradedOfClient ? context.client : nil
            )
        }
        if !rules.isEmpty {
            let outcome: CapOutcome
            do {
                outcome = try await self.caps.reserve(context.reservation, under: rules, app: context.app.recordID)
            } catch {
                throw .away
            }
            if case .full(let index, let wait) = outcome {
                return .refused(caps[index].refusal(retryAfter: wait, context.policy))
            }
        }
        return .granted(
            SignInGrant(
                app: context.app,
                verdict: verdict,
                caps: rules,
                signedInAt: state.clock.stamp,
                isRenewal: false
            )
        )
    }

    /// Gives back what was reserved for a sign-in that was not completed.
    ///
    /// Nobody waits for it: what does not arrive stays spent.
    func giveBack(_ grant: SignInGrant?, _ reservation: String) {
        guard let grant, !grant.caps.isEmpty else { return }
        Task { @Reactor in
            do throws(StoreError) {
                try await caps.cancel(reservation, under: grant.caps, app: grant.app.recordID)
            } catch {
                // The hour takes it.
            }
        }
    }
}

extension SignInProof {
    /// The proof as the verifiers take it.
    var proof: Proof {
        switch self {
        case .ios(_, let keyID, let assertion): .appleAssertion(keyID: keyID, object: assertion)
        case .android(_, let chain): .androidKey(chain: chain)
        }
    }
}
