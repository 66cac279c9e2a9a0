// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Gateway

/// What must hold for the texts that an operator or a client gives.
package enum TextProperties {
    /// A configuration is read or refused with at least one problem, the same each time.
    package static func configuration(_ bytes: [UInt8]) {
        let first = reading(bytes)
        require(first == reading(bytes), "a configuration has two readings")
    }

    private static func reading(_ bytes: [UInt8]) -> [String] {
        do throws(ConfigurationProblems) {
            let configuration = try Configuration(parsing: bytes, path: "/etc/x/x.yaml", environment: [:]) { _ in nil }
            return ["\(configuration.listeners) \(configuration.routes.count) \(configuration.timeouts)"]
        } catch {
            require(!error.problems.isEmpty, "a configuration was refused without a problem")
            return error.problems.map(\.description)
        }
    }

    /// A token is believed only where its signed bytes are those that were signed.
    package static func token(_ bytes: [UInt8]) {
        let facts = TokenForgeFacts.shared
        let good = Array(facts.token.utf8)
        if verifies(bytes) { require(bytes == good, "a token was believed that nobody signed") }
        // The input as a list of edits of the good token: place, byte.
        var edited = good
        for at in stride(from: 0, to: bytes.count - 2, by: 3) {
            let place = (Int(bytes[at]) << 8 | Int(bytes[at + 1])) % edited.count
            edited[place] = bytes[at + 2]
        }
        if verifies(edited) {
            let dot = good.lastIndex(of: 0x2e) ?? 0
            require(edited[..<dot] == good[..<dot], "a token was believed though what was signed changed")
        }
        _ = try? JSONWebKeySet.parse(bytes, algorithms: TokenAlgorithm.allCases)
    }

    private static func verifies(_ bytes: [UInt8]) -> Bool {
        guard let token = try? JOSEToken(parsing: bytes.span) else { return false }
        let facts = TokenForgeFacts.shared
        return (try? facts.verifier.verify(token, kinds: facts.kinds, now: facts.now)) != nil
    }
}

/// One good token and the verifier that believes it.
struct TokenForgeFacts: Sendable {
    static let shared = TokenForgeFacts()
    let token: String
    let verifier: OwnTokenVerifier
    let kinds = CredentialKinds([.sessionToken, .appToken])
    let now: Int64 = 1_793_750_400_000

    init() {
        guard let key = try? PrivateKey.generate(.p256), let signer = TokenSigner(key: key, issuer: "https://a"),
            let verification = signer.verificationKey
        else { preconditionFailure("no key for tokens") }
        let claims = """
            {"iss":"https://a","aud":"sallyport","jti":"t1","sub":"17","kind":"session_token","org":"acme",            "app":"65f0c0ffee65f0c0ffee65f0","app_id":"app_7f3c2a","dialect":"offlineid","app_auth":"attestation",            "app_trust":"hardware","iat":1793750390,"exp":1793750700}
            """
        let types = ["sallyport-session_token+jwt"]
        verifier = OwnTokenVerifier(issuer: "https://a", keys: VerificationKeySet([verification]))
        token = types.compactMap { try? signer.sign(Array(claims.utf8), type: $0) }.first ?? ""
    }
}
