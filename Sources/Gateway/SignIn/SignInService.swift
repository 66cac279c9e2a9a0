// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Crypto
import Encodings
import HTTP
import Limits
import Store
import Transport

/// The one core that all dialects sign apps in by: challenge, proof, cap, session.
///
/// Isolated to the Reactor, one for each worker.
@Reactor
final class SignInService {
    let challenges: ChallengeStore
    let caps: SignInCaps
    let sessions: SessionBindings
    let proofs: ProofJudge
    let state: WorkerState
    /// Upstreams' answers that passed untouched, by route and reason.
    var untouchedTold = ToldOnce()

    init(state: WorkerState, proofs: ProofJudge) {
        challenges = state.challenges
        caps = state.caps
        sessions = state.sessions
        self.proofs = proofs
        self.state = state
    }

    /// Hands out a challenge of `bytes` random bytes in base64url; answers it with its expiry in ms since 1970.
    func challenge(
        for app: App,
        in dialect: Dialect,
        isTest: Bool = false,
        network: ClientNetwork,
        bytes: Int,
        lifetime: Duration
    ) async throws(SignInFailure) -> (text: String, expiresAt: Int64) {
        let text: String
        do {
            text = Base64.encodeURL(try RandomBytes.make(bytes))
        } catch {
            throw .away
        }
        do {
            let expiresAt = try await challenges.issue(
                text,
                app: app.recordID,
                dialect: dialect,
                isTest: isTest,
                network: network,
                lifetime: lifetime
            )
            return (text, expiresAt)
        } catch {
            throw .away
        }
    }

    /// Spends a challenge: true for exactly one presentation of one that is good.
    func take(
        _ challenge: String,
        for app: App,
        in dialect: Dialect,
        isTest: Bool = false
    ) async throws(SignInFailure) -> Bool {
        // What cannot be one of ours costs no call.
        guard (16...64).contains(challenge.utf8.count), challenge.utf8.allSatisfy(Self.isURLSafe) else { return false }
        do {
            return try await challenges.take(challenge, app: app.recordID, dialect: dialect, isTest: isTest)
        } catch {
            throw .away
        }
    }

    /// The verdict on a proof made over `binding`.
    func verdict(
        on proof: Proof,
        over binding: ProofBinding,
        for app: App,
        in dialect: Dialect,
        now: Int64
    ) async throws(SignInFailure) -> ProofVerdict {
        do {
            return try await proofs.verdict(
                on: proof,
                over: binding,
                for: app,
                in: dialect,
                at: Moment(milliseconds: now)
            )
        } catch {
            throw .away
        }
    }

    /// Which of Apple's environments made a registered key.
    func environment(
        of deviceKey: String,
        app: App,
        in dialect: Dialect
    ) async throws(SignInFailure) -> AppAttestEnvironment {
        do {
            let id = try Hex.decode(deviceKey)
            guard let key = try await proofs.keys.key(id, of: app.recordID, in: dialect) else {
                throw SignInFailure.away
            }
            return key.environment
        } catch {
            throw .away
        }
    }

    private nonisolated static func isURLSafe(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

/// The state that a sign-in needs is away, or too much waits for it: 503.
enum SignInFailure: Error, Equatable {
    case away
}
