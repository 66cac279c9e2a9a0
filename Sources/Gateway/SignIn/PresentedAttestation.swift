// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Encodings

/// The `attestation` object of a sign-in body (dialects.md A.3).
enum PresentedAttestation: Equatable, Sendable {
    /// An assertion of a registered App Attest key.
    case ios(challenge: String, keyID: String, assertion: String)
    /// The chain of a fresh key, as it came; one that is no list of texts is an empty one, which no verifier reads.
    case android(challenge: String, chain: [String])
    /// The client says why it has no proof.
    case unavailable(platform: UnavailableReport.Platform, word: String)
    /// An object of no form that we know.
    case unknown

    /// Reads the member; nil when there is none.
    ///
    /// Fields that we do not know are ignored. A proof that came beside a report is judged: it says more.
    init?(reading value: JSONValue?) {
        guard let value, value != .null else { return nil }
        guard let platform = value["platform"]?.string.flatMap(UnavailableReport.Platform.init(rawValue:)) else {
            self = .unknown
            return
        }
        let challenge = value["challenge"]?.string
        switch platform {
        case .ios:
            if let challenge, let key = value["keyId"]?.string, let assertion = value["assertion"]?.string {
                self = .ios(challenge: challenge, keyID: key, assertion: assertion)
                return
            }
        case .android:
            if let challenge, let chain = value["certificateChain"] {
                self = .android(challenge: challenge, chain: Self.texts(chain))
                return
            }
        }
        guard let word = value["unavailable"]?.string else {
            self = .unknown
            return
        }
        self = .unavailable(platform: platform, word: word)
    }

    private static func texts(_ value: JSONValue) -> [String] {
        guard let elements = value.array else { return [] }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : []
    }
}
