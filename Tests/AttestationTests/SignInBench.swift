// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Testing

/// What a sign-in service does around the verifiers, in memory: keys are kept per app and key id, challenges once.
struct SignInBench {
    let lab: LabAuthorities
    let anchors: TrustAnchors
    var apps = [Lab.app]
    var environments: Set<AppAttestEnvironment> = [.production]
    var androidApps = [Lab.android]
    private(set) var keys: [String: [[UInt8]: RegisteredAppleKey]] = [:]
    private(set) var writes = 0

    init() throws {
        lab = try Lab.authorities()
        anchors = try lab.anchors()
    }

    static func binding(_ purpose: ProofBinding.Purpose, app: String = "app_1") -> ProofBinding {
        ProofBinding(challenge: "abc", appID: app, purpose: purpose)
    }

    /// An install with its key, attested or not.
    func install(
        _ environment: AppAttestEnvironment = .production,
        app: AppleApp = Lab.app,
        over binding: ProofBinding = SignInBench.binding(.register),
        fault: LabAppleProofs.AttestationFault? = nil
    ) throws -> LabAppleProofs.Attestation {
        try LabAppleProofs(lab, app: app)
            .attestation(clientDataHash: binding.hash.bytes, environment: environment, at: Lab.now, fault: fault)
    }

    @discardableResult
    mutating func register(
        _ proof: LabAppleProofs.Attestation,
        appID: String = "app_1",
        anchors: TrustAnchors? = nil,
        at now: Moment = Lab.now
    ) throws -> AttestationReason? {
        let verdict = AppAttestationVerifier(
            anchors: (anchors ?? self.anchors).apple,
            apps: apps,
            environments: environments
        ).verdict(
            on: proof.object,
            keyID: proof.keyID,
            clientDataHash: Self.binding(.register, app: appID).hash.bytes,
            at: now
        )
        guard case .accepted(let key) = verdict else { return verdict.reason }
        keys[appID, default: [:]][key.keyID] = RegisteredAppleKey(key, existing: keys[appID]?[key.keyID])
        writes += 1
        return nil
    }

    func assertion(
        _ install: LabAppleProofs.Attestation,
        counter: UInt32,
        over binding: ProofBinding = SignInBench.binding(.signIn),
        app: AppleApp = Lab.app,
        fault: LabAppleProofs.AssertionFault? = nil
    ) throws -> String {
        try LabAppleProofs(lab, app: app)
            .assertion(key: install.key, clientDataHash: binding.hash.bytes, counter: counter, fault: fault)
    }

    /// Judges an assertion and sets the counter if it is still below: what the store does in one step.
    mutating func signIn(_ assertion: String, keyID: String, appID: String = "app_1") throws -> AttestationReason? {
        let raw = try Base64.decode(keyID, alphabet: .either, padding: .optional)
        guard let key = keys[appID]?[raw] else { return .unknownKey }
        let verdict = key.verdict(
            on: assertion,
            apps: apps,
            environments: environments,
            clientDataHash: Self.binding(.signIn, app: appID).hash.bytes
        )
        guard case .accepted(let counter, _, _) = verdict else { return verdict.reason }
        guard let current = keys[appID]?[raw], current.counter < counter else { return .counterNotIncreasing }
        keys[appID]?[raw] = current.with(counter: counter)
        return nil
    }

    mutating func block(_ keyID: String) throws {
        let raw = try Base64.decode(keyID)
        guard let key = keys["app_1"]?[raw] else { return }
        keys["app_1"]?[raw] = key.with(isBlocked: true)
    }

    func chain(
        _ state: LabAndroidProofs.State = .hardware,
        challenge: [UInt8] = SignInBench.binding(.signIn).hash.bytes,
        app: AndroidApp = Lab.android
    ) throws -> [String] {
        try LabAndroidProofs(lab, app: app).chain(challenge: challenge, state: state, at: Lab.now)
    }

    func judge(
        _ chain: [String],
        statusList: StatusList = .empty,
        anchors: TrustAnchors? = nil
    ) -> KeyAttestationVerdict {
        KeyAttestationVerifier(anchors: anchors ?? self.anchors, apps: androidApps, statusList: statusList)
            .verdict(onChain: chain, challenges: Self.binding(.signIn).androidChallenges, at: Lab.now)
    }

    func token(
        _ verdict: LabPlayTokens.Verdict,
        nonce: String = "bm9uY2U",
        app: AndroidApp = Lab.android
    ) throws -> String {
        try LabPlayTokens(lab, app: app).token(nonce: nonce, verdict: verdict, at: Lab.now)
    }

    func judge(token: String, nonce: String = "bm9uY2U") throws -> IntegrityVerdict {
        let texts = lab.playKeyTexts
        let keys = try PlayIntegrityKeys(decryptionKey: texts.decryption, verificationKey: texts.verification)
        return IntegrityVerifier(apps: androidApps).verdict(on: token, keys: [keys], nonce: nonce, at: Lab.now)
    }

    func judge(payload: String) throws -> IntegrityVerdict {
        let object = try #require(try JSONValue(parsing: payload).object)
        return IntegrityVerifier(apps: androidApps).verdict(onPayload: object, nonce: "bm9uY2U", at: Lab.now)
    }

    /// A payload of a sound device, with parts replaced.
    static func payload(
        _ app: String = #""PLAY_RECOGNIZED""#,
        _ device: String = #"["MEETS_DEVICE_INTEGRITY"]"#,
        _ licence: String = #""LICENSED""#
    ) -> String {
        let digest = Base64.encodeURL(Lab.android.signers[0].bytes)
        return """
            {"requestDetails":{"requestPackageName":"com.example.app","timestampMillis":"\(Lab.now.milliseconds)",
            "nonce":"bm9uY2U"},"appIntegrity":{"appRecognitionVerdict":\(app),"packageName":"com.example.app",
            "certificateSha256Digest":["\(digest)"]},"deviceIntegrity":{"deviceRecognitionVerdict":\(device)},
            "accountDetails":{"appLicensingVerdict":\(licence)}}
            """
    }
}

/// What the store's scripts keep of a key.
extension RegisteredAppleKey {
    /// A key that was attested; attesting it again neither sets its counter back nor unblocks it.
    fileprivate init(_ attested: AttestedAppleKey, existing: RegisteredAppleKey?) {
        self.init(
            keyID: attested.keyID,
            point: attested.point,
            environment: attested.environment,
            app: attested.app,
            provenance: attested.provenance,
            counter: existing?.counter ?? 0,
            isBlocked: existing?.isBlocked ?? false
        )
    }

    fileprivate func with(counter: UInt32? = nil, isBlocked: Bool? = nil) -> RegisteredAppleKey {
        RegisteredAppleKey(
            keyID: keyID,
            point: point,
            environment: environment,
            app: app,
            provenance: provenance,
            counter: counter ?? self.counter,
            isBlocked: isBlocked ?? self.isBlocked
        )
    }
}
