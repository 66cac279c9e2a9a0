// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto
import Encodings

/// A Google service account, as its key file says: what remote decoding of Play Integrity tokens signs in with.
package struct ServiceAccount: Sendable {
    /// The account's address.
    package let email: String
    /// Where an assertion is exchanged for an access token.
    package let tokenURL: String
    /// Signs the assertion.
    package let key: PrivateKey
    /// The key's name at Google.
    package let keyID: String?

    /// Why a text is no service account.
    package enum ParseError: Error, Equatable {
        /// Not JSON.
        case notJSON
        /// A member is missing or has another shape.
        case member(String)
    }

    /// Whether the value of `VOUCH_PLAY_INTEGRITY_CREDENTIALS` is the contents rather than a path (VCH-014).
    package static func isContents(_ value: String) -> Bool {
        value.first { !$0.isWhitespace } == "{"
    }

    /// The account of a key file's text.
    package init(parsing text: [UInt8]) throws(ParseError) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: text)
        } catch {
            throw .notJSON
        }
        guard document["type"]?.string == "service_account" else { throw .member("type") }
        guard let email = document["client_email"]?.string, email.contains("@") else { throw .member("client_email") }
        guard let pem = document["private_key"]?.string else { throw .member("private_key") }
        self.email = email
        keyID = document["private_key_id"]?.string
        tokenURL = document["token_uri"]?.string ?? "https://oauth2.googleapis.com/token"
        guard tokenURL.hasPrefix("https://") else { throw .member("token_uri") }
        do {
            key = try PrivateKey(pem: pem)
        } catch {
            throw .member("private_key")
        }
        guard case .rsa = key.kind else { throw .member("private_key") }
    }

    /// What access is asked for.
    private static let scope = "https://www.googleapis.com/auth/playintegrity"

    /// The form that asks for an access token with a signed assertion (RFC 7523), good for an hour.
    package func tokenRequest(at now: Moment) throws(CryptoError) -> String {
        var head = JSONWriter()
        head.beginObject()
        head.member("alg", "RS256")
        head.member("typ", "JWT")
        head.member("kid", keyID)
        head.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", email)
        claims.member("scope", Self.scope)
        claims.member("aud", tokenURL)
        claims.member("iat", Int(now.seconds))
        claims.member("exp", Int(now.seconds) + 3_600)
        claims.endObject()
        let message = "\(Base64.encodeURL(head.bytes)).\(Base64.encodeURL(claims.bytes))"
        let signature = try key.signature(of: Array(message.utf8), .rsaPKCS1(.sha256))
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        return "grant_type=\(grant)&assertion=\(message).\(Base64.encodeURL(signature))"
    }
}

/// The environment that App Attest keys must be of by default: `VOUCH_APP_ATTEST_ENV` (VCH-012).
package enum AppAttestEnvironmentSetting {
    /// The environments that a value allows; both where it is not set, nil where it is no such word.
    package static func environments(_ value: String?) -> Set<AppAttestEnvironment>? {
        guard let value, !value.isEmpty else { return [.production, .development] }
        return AppAttestEnvironment(rawValue: value).map { [$0] }
    }
}
