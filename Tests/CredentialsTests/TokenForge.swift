// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

@testable import Credentials

/// Makes tokens, good ones and all kinds of bad ones, as another library or an attacker would.
struct TokenForge: Sendable {
    let es256: PrivateKey
    let es384: PrivateKey
    let edDSA: PrivateKey
    let rsa: PrivateKey
    let weakRSA: PrivateKey
    let stranger: PrivateKey
    let secret = Array("a shared secret of at least 32 bytes".utf8)

    static let issuer = "https://login.example.com/"
    static let gateway = "https://api.example.com"
    static let now: Int64 = 1_793_750_400_000

    /// Made once: RSA keys take their time.
    static let shared = Result { try TokenForge() }

    private init() throws {
        es256 = try .generate(.p256)
        es384 = try .generate(.p384)
        edDSA = try .generate(.ed25519)
        rsa = try .generate(.rsa(bits: 2_048))
        weakRSA = try .generate(.rsa(bits: 1_024))
        stranger = try .generate(.p256)
    }

    static func seconds(_ offset: Int64) -> Int64 { now / 1_000 + offset }

    /// `{"sub":…}` of the outside issuer, with members replaced, added, or (nil) removed.
    static func claims(_ changes: [(String, String?)] = []) -> String {
        object(
            [
                ("iss", "\"\(issuer)\""), ("aud", "\"acme-api\""), ("sub", "\"17\""), ("iat", "\(seconds(-10))"),
                ("exp", "\(seconds(300))"),
            ],
            changes
        )
    }

    /// The claims of a token of ours.
    static func ownClaims(_ changes: [(String, String?)] = []) -> String {
        object(
            [
                ("iss", "\"\(gateway)\""), ("aud", "\"sallyport\""), ("jti", "\"t1\""), ("sub", "\"17\""),
                ("kind", "\"session_token\""), ("org", "\"acme\""), ("app", "\"65f0c0ffee65f0c0ffee65f0\""),
                ("app_id", "\"app_7f3c2a\""), ("dialect", "\"offlineid\""), ("app_auth", "\"attestation\""),
                ("app_trust", "\"hardware\""), ("iat", "\(seconds(-10))"), ("exp", "\(seconds(300))"),
            ],
            changes
        )
    }

    static func header(_ algorithm: String, _ changes: [(String, String?)] = []) -> String {
        object([("alg", "\"\(algorithm)\""), ("typ", "\"JWT\""), ("kid", "\"k1\"")], changes)
    }

    static func ownHeader(_ id: String, _ changes: [(String, String?)] = []) -> String {
        object([("alg", "\"ES256\""), ("typ", "\"sallyport-session_token+jwt\""), ("kid", "\"\(id)\"")], changes)
    }

    private static func object(_ members: [(String, String)], _ changes: [(String, String?)]) -> String {
        var written: [String] = []
        for (name, value) in members {
            guard let change = changes.first(where: { $0.0 == name }) else {
                written.append("\"\(name)\":\(value)")
                continue
            }
            if let new = change.1 { written.append("\"\(name)\":\(new)") }
        }
        for (name, value) in changes where !members.contains(where: { $0.0 == name }) {
            if let value { written.append("\"\(name)\":\(value)") }
        }
        return "{" + written.joined(separator: ",") + "}"
    }

    static func encode(_ text: String) -> String { Base64.encodeURL(Array(text.utf8)) }

    func sign(
        _ header: String,
        _ claims: String,
        with key: PrivateKey,
        _ algorithm: SignatureAlgorithm
    ) throws -> String {
        let input = Self.encode(header) + "." + Self.encode(claims)
        return input + "." + Base64.encodeURL(try key.rawSignature(of: Array(input.utf8), algorithm))
    }

    func es256(_ header: String = header("ES256"), _ claims: String = claims()) throws -> String {
        try sign(header, claims, with: es256, .ecdsa(.sha256))
    }

    func hmac(_ header: String, _ claims: String, key: [UInt8]) -> String {
        let input = Self.encode(header) + "." + Self.encode(claims)
        return input + "." + Base64.encodeURL(HMACSHA256(key: key.span).code(for: Array(input.utf8)).bytes)
    }

    /// The outside issuer with all algorithms, and its keys.
    func issuer(
        _ algorithms: [TokenAlgorithm] = [.es256, .es384, .edDSA, .rs256, .ps256],
        kind: IssuerKind = .person,
        name: String = issuer,
        organization: OrganizationID = Fixture.organization,
        appClaim: String? = nil,
        trustClaim: String? = nil
    ) -> OutsideIssuer {
        OutsideIssuer(
            name: "acme-users",
            issuer: name,
            audiences: ["acme-api"],
            algorithms: algorithms,
            organizations: [organization],
            kind: kind,
            personClaim: "sub",
            appClaim: appClaim,
            trustClaim: trustClaim
        )
    }

    func keys(_ algorithms: [TokenAlgorithm] = [.es256, .es384, .edDSA, .rs256, .ps256]) -> VerificationKeySet {
        VerificationKeySet(
            [("k1", es256), ("k2", es384), ("k3", edDSA), ("k4", rsa)].compactMap { id, key in
                VerificationKey(id: id, publicKey: key.publicKey, algorithms: algorithms)
            }
        )
    }

    /// What the outside issuer's rules say of a text.
    func judge(_ text: String, at now: Int64 = now) -> TokenFault? {
        do throws(TokenFault) {
            _ = try issuer().verify(JOSEToken(parsing: text.utf8.span), keys: keys(), now: now)
            return nil
        } catch {
            return error
        }
    }

    /// What our own rules say of a text.
    func judgeOwn(
        _ text: String,
        kinds: [CredentialKind] = [.sessionToken],
        at now: Int64 = now
    ) throws -> TokenFault? {
        let verifier = OwnTokenVerifier(issuer: Self.gateway, keys: VerificationKeySet([try ownKey()]))
        do throws(TokenFault) {
            _ = try verifier.verify(JOSEToken(parsing: text.utf8.span), kinds: CredentialKinds(kinds), now: now)
            return nil
        } catch {
            return error
        }
    }

    func signer() throws -> TokenSigner {
        guard let signer = TokenSigner(key: es256, issuer: Self.gateway) else { throw TokenFault.unknownKey }
        return signer
    }

    private func ownKey() throws -> VerificationKey {
        guard let key = try signer().verificationKey else { throw TokenFault.unknownKey }
        return key
    }
}
