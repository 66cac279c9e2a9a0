// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// The five forms of `POST /profile/app/attest` (dialects.md C.2).
enum AppEngineForm: Equatable, Sendable {
    /// nil: neither an attestation nor an assertion came, or no key id.
    case ios(nonce: String, proof: ApplePart?)
    /// nil: no integrity token came.
    case android(nonce: String, token: String?)
    /// nil: no debug token came.
    case debug(nonce: String, token: String?)
    case web(domain: String?)

    /// What an iPhone sent; both at once count as an attestation (APP-104).
    enum ApplePart: Equatable, Sendable {
        case attestation(keyID: String, object: String)
        case assertion(keyID: String, object: String)
    }

    /// Reads the form; its faults are those that the source answers with 400 (APP-096).
    init(_ body: FormBody) throws(AppEngineFormFault) {
        guard let platform = body["platform"]?.string else { throw .platform }
        // A missing nonce is no fault of the form: it is answered as one that is not good.
        let nonce = body["nonce"]?.string ?? ""
        switch platform {
        case "ios": self = .ios(nonce: nonce, proof: Self.applePart(body))
        case "android": self = .android(nonce: nonce, token: body["integrityToken"]?.string)
        case "debug": self = .debug(nonce: nonce, token: body["debugToken"]?.string)
        case "web": self = .web(domain: body["domain"]?.string)
        default: throw .platform
        }
    }

    /// What the answer, the token and the statistics call it.
    var platform: String {
        switch self {
        case .ios: "ios"
        case .android: "android"
        case .debug: "debug"
        case .web: "web"
        }
    }

    private static func applePart(_ body: FormBody) -> ApplePart? {
        guard let key = body["keyId"]?.string else { return nil }
        if let object = body["attestation"]?.string { return .attestation(keyID: key, object: object) }
        if let object = body["assertion"]?.string { return .assertion(keyID: key, object: object) }
        return nil
    }
}

/// What is wrong with the form of an attest call.
enum AppEngineFormFault: Error, Equatable {
    /// `platform` is missing or another word.
    case platform
}
