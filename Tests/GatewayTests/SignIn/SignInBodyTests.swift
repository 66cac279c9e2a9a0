// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Testing

@testable import Gateway

@Suite struct SignInBodyTests {
    private func read(_ text: String, _ endpoint: SignInEndpoint = .verify) throws(FormFault) -> SignInBody {
        try SignInBody(reading: Array(text.utf8), for: endpoint)
    }

    @Test(arguments: [
        (
            #"{"platform":"ios","challenge":"c","keyId":"k","assertion":"a"}"#,
            PresentedAttestation.ios(challenge: "c", keyID: "k", assertion: "a")
        ),
        (
            #"{"platform":"android","challenge":"c","certificateChain":["l","r"]}"#,
            .android(challenge: "c", chain: ["l", "r"])
        ),
        (#"{"platform":"android","challenge":"c","certificateChain":["l",7]}"#, .android(challenge: "c", chain: [])),
        (#"{"platform":"android","challenge":"c","certificateChain":"l"}"#, .android(challenge: "c", chain: [])),
        (#"{"platform":"android","unavailable":"emulator"}"#, .unavailable(platform: .android, word: "emulator")),
        (#"{"platform":"ios","unavailable":"simulator","more":1}"#, .unavailable(platform: .ios, word: "simulator")),
        (
            #"{"platform":"ios","challenge":"c","keyId":"k","assertion":"a","unavailable":"simulator"}"#,
            .ios(challenge: "c", keyID: "k", assertion: "a")
        ),
        (#"{"platform":"ios","challenge":"c","keyId":"k"}"#, .unknown),
        (#"{"platform":"ios","challenge":"c","certificateChain":[]}"#, .unknown),
        (#"{"platform":"windows","unavailable":"emulator"}"#, .unknown),
        (#"{"unavailable":"emulator"}"#, .unknown), (#""ios""#, .unknown), ("[]", .unknown), ("{}", .unknown),
    ])
    func `an attestation is read as one of the known forms`(_ text: String, _ expected: PresentedAttestation) throws {
        #expect(try read(#"{"attestation":\#(text)}"#).attestation == expected)
    }

    @Test func `no attestation and a null one are the same`() throws {
        #expect(try read(#"{"email":"p@example.com"}"#).attestation == nil)
        #expect(try read(#"{"attestation":null}"#).attestation == nil)
    }

    @Test(arguments: [
        (#"{"email":"p@example.com"}"#, false), (#"{"phone_number":"+1"}"#, true),
        (#"{"email":"p@example.com","phone_number":"+1"}"#, true),
        (#"{"email":"p@example.com","phone_number":null}"#, false),
    ])
    func `a phone number makes it a text message, whatever stands beside it`(_ text: String, _ isText: Bool) throws {
        #expect(try read(text, .sendCode).asksForTextMessage == isText)
        #expect(try !read(text, .verify).asksForTextMessage)
    }

    @Test(arguments: [
        ("{}", FormFault.field("email")), (#"{"email":null}"#, .field("email")), (#"{"email":7}"#, .field("email")),
        (#"{"email":"p","phone_number":7}"#, .field("phone_number")), ("[]", .notAnObject), ("", .notJSON("not_json")),
        (#"{"email":"p","email":"q"}"#, .notJSON("duplicate_name")), (#"{"email":"p"}x"#, .notJSON("not_json")),
        (String(repeating: "[", count: 18) + String(repeating: "]", count: 18), .notJSON("too_deep")),
    ])
    func `a body of another form is refused by the field's name`(_ text: String, _ fault: FormFault) {
        #expect(throws: fault) { try read(text, .sendCode) }
    }

    @Test(arguments: [
        ("application/json", "", true), ("Application/JSON; charset=UTF-8", "", true),
        ("application/json;", "identity", true),
        ("application/json; charset=\"utf-8\"", "", true), ("", "", false), ("text/plain", "", false),
        ("application/json; charset=latin1", "", false), ("application/json", "gzip", false),
        ("application/jsonp", "", false), ("application/json, text/plain", "", false),
    ])
    func `only plain JSON in UTF-8 is read`(_ type: String, _ coding: String, _ isPlain: Bool) {
        #expect(MediaTypeCheck.isPlainJSON(contentType: type, contentEncoding: coding) == isPlain)
    }
}
