// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Testing

@testable import Credentials

@Suite struct JSONWebKeySetTests {
    /// The keys of RFC 7517 A.1 and RFC 8037 A.2.
    private static let curve =
        #"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"sig","kid":"1"}"#
    private static let edwards =
        #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"2"}"#

    private func ids(_ keys: [String], _ algorithms: [TokenAlgorithm] = [.es256, .edDSA, .rs256]) throws -> [String?] {
        let text = "{\"keys\":[\(keys.joined(separator: ","))]}"
        return try JSONWebKeySet.parse(Array(text.utf8), algorithms: algorithms).keys.map(\.id)
    }

    @Test func `a set is read, and the thumbprint is that of RFC 8037`() throws {
        #expect(try ids([Self.curve, Self.edwards]) == ["1", "2"])
        let set = try JSONWebKeySet.parse(Array("{\"keys\":[\(Self.edwards)]}".utf8), algorithms: [.edDSA])
        guard case .pair(let key) = set.keys[0].material else {
            Issue.record("no public key")
            return
        }
        #expect(JSONWebKeySet.thumbprint(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test func `keys for other uses, kinds and algorithms are left out`() throws {
        let good = Self.edwards
        for other in [
            Self.curve.replacing(#""use":"sig""#, with: #""use":"enc""#),
            Self.curve.replacing(#""use":"sig""#, with: #""key_ops":["sign"]"#),
            Self.curve.replacing(#""use":"sig""#, with: #""alg":"ES384""#),
            Self.curve.replacing(#""use":"sig""#, with: #""alg":"none""#),
            Self.curve.replacing("P-256", with: "secp256k1"), Self.curve.replacing("4Etl6", with: "5Etl6"),
            #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75","kid":"3"}"#,
            #"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"4"}"#, #"{"kid":"5"}"#,
        ] {
            #expect(try ids([other, good]) == ["2"], "\(other)")
        }
        #expect(try ids([Self.curve, good], [.edDSA]) == ["2"])
    }

    @Test func `a set of no use is a failed fetch`() {
        #expect(throws: KeySetProblem.noUsableKey) { try ids([]) }
        #expect(throws: KeySetProblem.duplicateKeyID) { try ids([Self.curve, Self.curve]) }
        #expect(throws: KeySetProblem.malformed) { try ids(["1"]) }
        #expect(throws: KeySetProblem.malformed) { try JSONWebKeySet.parse(Array("{}".utf8), algorithms: [.es256]) }
        #expect(throws: KeySetProblem.malformed) { try JSONWebKeySet.parse([], algorithms: [.es256]) }
        #expect(throws: KeySetProblem.tooManyKeys) { try ids(Array(repeating: "{}", count: 65)) }
        let long = [UInt8](repeating: UInt8(ascii: " "), count: JSONWebKeySet.maximumBytes + 1)
        #expect(throws: KeySetProblem.tooLong) { try JSONWebKeySet.parse(long, algorithms: [.es256]) }
    }

    @Test func `a set includes another in whatever order its keys come, and none that lacks one`() {
        let keys = (0..<6).map { VerificationKey(id: "k\($0)", secret: SecretBytes([UInt8($0), 1, 2, 3].span)) }
        let whole = VerificationKeySet(keys)
        for part in [keys, Array(keys.reversed()), Array(keys[2...]), [keys[5], keys[0]], []] {
            #expect(whole.includes(VerificationKeySet(part)))
        }
        let others = [
            VerificationKey(id: "k0", secret: SecretBytes([9, 1, 2, 3].span)),
            VerificationKey(id: "k9", secret: SecretBytes([0, 1, 2, 3].span)),
        ]
        for other in others {
            #expect(!whole.includes(VerificationKeySet(keys + [other])))
            #expect(!whole.includes(VerificationKeySet([other] + keys)))
        }
        #expect(!VerificationKeySet(Array(keys[1...])).includes(whole))
    }
}
