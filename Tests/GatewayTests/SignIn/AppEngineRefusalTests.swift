// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Testing

@testable import Gateway

@Suite struct AppEngineRefusalTests {
    @Test(arguments: AttestationReason.allCases, [AttestationReason.Platform.ios, .android])
    func `every reason has a word of the dialect or none`(
        _ reason: AttestationReason,
        _ platform: AttestationReason.Platform
    ) {
        let word = AppEngineRefusal.Reason(reason, on: platform)
        #expect((word == nil) == (reason == .licenceNotEvaluated))
        // Requirements 13.3: on iOS these three mean that a fresh key may succeed, and nothing else may say them.
        let retried: [AppEngineRefusal.Reason] = [.unknownKey, .badSignature, .counterNotIncreasing]
        if platform == .ios, let word, retried.contains(word) {
            #expect([.unknownKey, .badSignature, .counterNotIncreasing].contains(reason))
        }
    }

    @Test func `the envelope is the source's, byte by byte`() {
        let body = AppEngineRefusal.attestation(.nonceMismatch)
            .body(method: "POST", path: "/profile/app/attest", now: 1_792_418_472_000)
        #expect(
            String(decoding: body, as: UTF8.self) == """
                {"code":"app_attestation_failed","reason":"nonce_mismatch","statusCode":401,\
                "error":"The attestation was not made for this challenge. Request a new challenge for each attempt.","path":"/profile/app/attest",\
                "method":"POST","timeStamp":"2026-10-19T14:01:12.000Z"}
                """
        )
        let missing = AppEngineRefusal.appNotFound.body(method: "POST", path: "/profile/app/challenge", now: 0)
        #expect(!String(decoding: missing, as: UTF8.self).contains("reason"))
    }

    @Test(arguments: [
        (
            #"{"platform":"ios","nonce":"n","keyId":"k","attestation":"a","assertion":"b"}"#,
            AppEngineForm.ios(nonce: "n", proof: .attestation(keyID: "k", object: "a"))
        ),
        (
            #"{"platform":"ios","nonce":"n","keyId":"k","assertion":"b"}"#,
            .ios(nonce: "n", proof: .assertion(keyID: "k", object: "b"))
        ),
        (#"{"platform":"ios","nonce":"n","keyId":"k"}"#, .ios(nonce: "n", proof: nil)),
        (#"{"platform":"ios","nonce":"n","assertion":"b"}"#, .ios(nonce: "n", proof: nil)),
        (#"{"platform":"android","nonce":7,"integrityToken":"t"}"#, .android(nonce: "", token: "t")),
        (#"{"platform":"debug","nonce":"n"}"#, .debug(nonce: "n", token: nil)),
        (#"{"platform":"web","nonce":"ignored","domain":7}"#, .web(domain: nil)),
    ])
    func `a form is read by its platform`(_ text: String, _ form: AppEngineForm) throws {
        #expect(try AppEngineForm(FormBody(Array(text.utf8))) == form)
    }

    @Test(arguments: [#"{}"#, #"{"platform":"windows"}"#, #"{"platform":"IOS"}"#, #"{"platform":7}"#])
    func `another platform is a fault of the form`(_ text: String) throws {
        let body = try FormBody(Array(text.utf8))
        #expect(throws: AppEngineFormFault.platform) { try AppEngineForm(body) }
    }
}
