// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL
import Encodings

/// The hash a signature is made over.
package enum HashAlgorithm: Hashable, Sendable {
    case sha256, sha384, sha512

    var fetched: FetchedDigest {
        switch self {
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }
}

/// How a signature is made.
package enum SignatureAlgorithm: Hashable, Sendable {
    /// RSASSA-PKCS1-v1_5.
    case rsaPKCS1(HashAlgorithm)
    /// RSASSA-PSS with MGF1 of the same hash and a salt as long as the hash.
    case rsaPSS(HashAlgorithm)
    /// ECDSA; signatures are DER unless a method says raw.
    case ecdsa(HashAlgorithm)
    /// Ed25519, which hashes by itself.
    case ed25519
}

/// What kind of key a key is.
package enum KeyKind: Hashable, Sendable {
    /// The NIST curves.
    case p256, p384, p521
    /// Edwards curve 25519, for signatures.
    case ed25519
    /// RSA of so many bits.
    case rsa(bits: Int)

    /// The bytes of one coordinate, for the NIST curves.
    package var coordinateBytes: Int? {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        case .ed25519, .rsa: nil
        }
    }

    var curveName: String? {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        case .p521: "P-521"
        case .ed25519, .rsa: nil
        }
    }

    var template: CurveTemplate? {
        switch self {
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        case .ed25519, .rsa: nil
        }
    }

    func allows(_ algorithm: SignatureAlgorithm) -> Bool {
        switch (self, algorithm) {
        case (.p256, .ecdsa), (.p384, .ecdsa), (.p521, .ecdsa): true
        case (.rsa, .rsaPKCS1), (.rsa, .rsaPSS): true
        case (.ed25519, .ed25519): true
        case (.p256, _), (.p384, _), (.p521, _), (.rsa, _), (.ed25519, _): false
        }
    }
}

/// The two forms of an ECDSA signature.
package enum ECDSASignature {
    /// SEQUENCE { r, s } of a fixed-width `r || s`, or nil if either is zero or the length is odd.
    package static func der(raw: Span<UInt8>) -> [UInt8]? {
        let width = raw.count / 2
        guard raw.count > 0, raw.count == width * 2 else { return nil }
        let r = (0..<width).map { raw[$0] }
        let s = (width..<raw.count).map { raw[$0] }
        // CVE-2022-21449: zero is no half of a signature.
        guard r.contains(where: { $0 != 0 }), s.contains(where: { $0 != 0 }) else { return nil }
        return DERWriter.sequence(DERWriter.integer(magnitude: r), DERWriter.integer(magnitude: s))
    }

    /// `r || s`, each `width` bytes, of a DER signature.
    package static func raw(der: [UInt8], width: Int) throws(CryptoError) -> [UInt8] {
        do {
            var halves = try DERCursor.only(.sequence, in: der).cursor
            let r = try halves.read(.integer).magnitude()
            let s = try halves.read(.integer).magnitude()
            try halves.finish()
            guard r.count <= width, s.count <= width else { throw CryptoError.illegalLength }
            return [UInt8](repeating: 0, count: width - r.count) + r
                + [UInt8](repeating: 0, count: width - s.count) + s
        } catch {
            throw .illegalLength
        }
    }
}
