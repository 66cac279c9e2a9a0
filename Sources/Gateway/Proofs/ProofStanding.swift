// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials

/// What a proof is judged against: one app as it is registered now, in one dialect, at one moment.
struct ProofStanding: Sendable {
    let app: AppRecord
    let dialect: Dialect
    let binding: ProofBinding
    let now: Moment

    init(_ app: AppRecord, _ dialect: Dialect, _ binding: ProofBinding, _ now: Moment) {
        self.app = app
        self.dialect = dialect
        self.binding = binding
        self.now = now
    }

    /// The pairs registered for iOS.
    var appleApps: [AppleApp] {
        app.native.ios.map { AppleApp(teamID: $0.teamID, bundleID: $0.bundleID) }
    }

    /// The pairs registered for Android; an entry whose fingerprints do not read matches nothing.
    var androidApps: [AndroidApp] {
        app.native.android.compactMap { AndroidApp(package: $0.package, fingerprints: $0.sha256) }
    }

    /// The environments of App Attest keys that count here: each dialect has its rule (OFF-010, VCH-012, APP-019).
    func environments(_ standard: Set<AppAttestEnvironment>) -> Set<AppAttestEnvironment> {
        switch dialect {
        case .offlineid: app.allowsDevelopmentBuilds ? [.production, .development] : [.production]
        case .vouch: standard
        case .appengine: [.production, .development]
        }
    }

    /// The lab whose proofs count now; nil where none does, and always nil for a production app.
    var lab: LabTrust? {
        guard let lab = LabTrust(app.labTrust), lab.isInForce(at: now, isProduction: app.isProduction) else {
            return nil
        }
        return lab
    }

    /// The vendors' anchors, and the lab's beside them while it counts.
    func anchors(beside vendor: TrustAnchors) -> TrustAnchors {
        lab?.anchors(beside: vendor, at: now, isProduction: app.isProduction) ?? vendor
    }
}
