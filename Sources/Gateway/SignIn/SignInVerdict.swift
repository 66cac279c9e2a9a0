// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings

/// What an accepted native sign-in is worth: what the upstream and the client are told.
struct SignInVerdict: Equatable, Sendable {
    let trust: Trust
    /// The device state that lowered the trust.
    let reason: AttestationReason?

    init(trust: Trust, reason: AttestationReason? = nil) {
        self.trust = trust
        self.reason = trust == .degraded ? reason : nil
    }

    static let development = SignInVerdict(trust: .development)

    /// `data.attestation.status` (OFF-007).
    var status: String {
        switch trust {
        case .hardware: "verified"
        case .degraded: "degraded"
        case .development: "development"
        }
    }

    /// `app_auth` of the session's token (OFF-076).
    var authentication: AppAuthentication { trust == .development ? .development : .attestation }

    /// The fields of the answer that say the same: they are ours alone, whoever wrote the body.
    var answerFields: [HeaderField] {
        var fields = [
            HeaderField(name: "sallyport-attestation", value: status),
            HeaderField(name: "sallyport-trust", value: trust.rawValue),
        ]
        if let reason {
            fields.append(HeaderField(name: "sallyport-attestation-reason", value: reason.rawValue))
        }
        return fields
    }

    /// The object that the client gets as `data.attestation`.
    var json: [UInt8] {
        var json = JSONWriter(capacity: 96)
        json.beginObject()
        json.member("status", status)
        json.member("trust", trust.rawValue)
        json.member("reason", reason?.rawValue)
        json.endObject()
        return json.bytes
    }
}
