// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Telemetry
package import Transport

/// The ways to have Google open a token: with an app's own service account, or with the gateway's.
///
/// Isolated to the Reactor. One decoder an account, so that its access token is asked for once.
@Reactor
package final class PlayDecoders {
    private let settings: TrustSettings
    private let client: WebClient
    private let loop: EventLoop
    private let standard: RemotePlayDecoder?
    private let log: Log
    private let answered: Counter
    private let unanswered: Counter
    private var own: [RecordID: Own] = [:]
    private var asking = 0

    private struct Own {
        let sealed: SealedText
        let decoder: RemotePlayDecoder
    }

    /// Each question has a connection of its own; more at once are not asked, and count as no answer.
    private static let mostAsking = 64
    /// Past this many apps with accounts of their own the decoders are made anew as they are needed.
    private static let mostOwn = 256

    /// Decoders by `settings`, with the authorities read from its file; throws where those cannot be used.
    init(
        _ settings: TrustSettings,
        _ trust: TLSClientSettings.Trust,
        loop: EventLoop,
        pool: BlockingPool,
        log: Log,
        slot: MetricsSlot
    ) throws(SnapshotProblem) {
        self.settings = settings
        self.loop = loop
        self.log = log
        answered = slot.counter(GatewayMetrics.playQuestions, "outcome=\"answered\"")
        unanswered = slot.counter(GatewayMetrics.playQuestions, "outcome=\"unavailable\"")
        let client = try WebClient(trust, loop: loop, resolver: Resolver(loop: loop, pool: pool))
        self.client = client
        standard = settings.playAccount.flatMap { account in
            RemotePlayDecoder(
                account,
                client: client,
                loop: loop,
                base: settings.playIntegrity,
                deadline: settings.playDeadline
            ) { .now() }
        }
        standard?.onChange = { problem in Self.tell(log, of: "the gateway", problem) }
    }

    /// What an operator has to see to: while Google does not answer, every Android sign-in of the account is degraded.
    private static func tell(_ log: Log, of whose: String, _ problem: String?) {
        guard let problem else { return log.info("Play Integrity tokens are opened again", ["account": whose]) }
        log.error("Google opens no Play Integrity tokens", ["account": whose, "reason": problem])
    }

    /// The verdict of Google's API on `token`; nil where no account is there to ask it with.
    func verdict(
        on token: String,
        _ standing: ProofStanding,
        seals: SealingRing?
    ) async -> IntegrityVerdict? {
        guard let decoder = decoder(of: standing.app, seals) ?? standard else { return nil }
        guard asking < Self.mostAsking else {
            unanswered.increment()
            return .unavailable
        }
        asking += 1
        defer { asking -= 1 }
        let apps = standing.androidApps
        var verdict = IntegrityVerdict.notConfigured
        // Google is asked by package; a token says only once it is open which of them it is of.
        let end = loop.now.advanced(by: settings.playDeadline)
        for app in apps.prefix(4) {
            verdict = await decoder.verdict(
                on: token,
                package: app.package,
                verifier: IntegrityVerifier(apps: apps),
                nonce: standing.binding.text,
                until: end
            )
            if verdict.reason != .malformed || verdict.stage != .decrypt { break }
        }
        (verdict == .unavailable ? unanswered : answered).increment()
        return verdict
    }

    /// Whether an account is there to ask Google about an app with.
    func mayAsk(about app: AppRecord, seals: SealingRing?) -> Bool {
        standard != nil || decoder(of: app, seals) != nil
    }

    private func decoder(of app: AppRecord, _ seals: SealingRing?) -> RemotePlayDecoder? {
        guard let seals, let sealed = app.playAccount else { return nil }
        if let known = own[app.recordID], known.sealed == sealed { return known.decoder }
        guard let account = PlaySecrets.account(sealed, for: app.recordID, with: seals),
            let decoder = RemotePlayDecoder(
                account,
                client: client,
                loop: loop,
                base: settings.playIntegrity,
                deadline: settings.playDeadline,
                clock: { .now() }
            )
        else { return nil }
        decoder.onChange = { [log, id = app.appID.rawValue] problem in Self.tell(log, of: id, problem) }
        if own.count >= Self.mostOwn { own = [:] }
        own[app.recordID] = Own(sealed: sealed, decoder: decoder)
        return decoder
    }
}
