// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a key of dialect vouch is for.
package enum VouchKeyKind: String, Sendable, Codable, CaseIterable {
    /// Ships in the app and attests.
    case sdk = "pk"
    /// Manages devices and asks about run tokens, from a server.
    case management = "sk"
}

/// One key of dialect vouch; the key itself was shown once and is not kept.
package struct VouchKeyRecord: Codable, Sendable, Equatable {
    package var id: APIKeyID
    package var name: String
    package var kind: VouchKeyKind
    package var isLive: Bool
    package var secret: HashedSecret

    package init(id: APIKeyID, name: String, kind: VouchKeyKind, isLive: Bool, secret: HashedSecret) {
        self.id = id
        self.name = name
        self.kind = kind
        self.isLive = isLive
        self.secret = secret
    }
}

/// What an app set for dialect vouch.
package struct VouchSettings: Codable, Sendable, Equatable {
    /// How long a verdict is kept for the same proof, in seconds; 0: not at all.
    package var verdictCache: Int64
    /// How long a run token lives, in seconds (VCH-021).
    package var runTokenLife: Int64
    /// How long a nonce lives, in seconds (VCH-010).
    package var nonceLife: Int64
    package var policies: [VouchPolicy]
    /// Development devices, which a test key attests without a proof.
    package var debugDevices: [DebugDeviceRecord]

    /// What holds for an app that set nothing.
    ///
    /// Ten minutes cover launches that follow each other; an app with many devices takes more, to
    /// stay inside Google's quota.
    package static let standard = VouchSettings(
        verdictCache: 600,
        runTokenLife: 900,
        nonceLife: 300,
        policies: [],
        debugDevices: []
    )
    /// The longest life of a run token: a day (VCH-021).
    package static let longestRunToken: Int64 = 86_400

    package init(
        verdictCache: Int64,
        runTokenLife: Int64,
        nonceLife: Int64,
        policies: [VouchPolicy],
        debugDevices: [DebugDeviceRecord]
    ) {
        self.verdictCache = verdictCache
        self.runTokenLife = runTokenLife
        self.nonceLife = nonceLife
        self.policies = policies
        self.debugDevices = debugDevices
    }
}

/// What a degraded verdict, one of its reasons or a signal is worth to an app (VCH-030).
package struct VouchPolicy: Codable, Sendable, Equatable {
    /// What the app does.
    package enum Action: String, Codable, Sendable, CaseIterable {
        case allow, refuse, monitor
    }

    /// `degraded`, a reason that degrades, or a signal.
    package var when: String
    package var action: Action
    /// When the rule was set, in milliseconds since 1970: its devices are counted from then on.
    package var since: Int64

    package init(when: String, action: Action, since: Int64) {
        self.when = when
        self.action = action
        self.since = since
    }
}

/// One development device.
package struct DebugDeviceRecord: Codable, Sendable, Equatable {
    package var id: String
    package var createdAt: Int64

    package init(id: String, createdAt: Int64) {
        self.id = id
        self.createdAt = createdAt
    }
}

extension AppRecord {
    /// What holds for this app in dialect vouch.
    package var vouchSettings: VouchSettings { vouch ?? .standard }
}
