// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Testing

@testable import Gateway

@Suite struct TrustSectionTests {
    private func settings(_ text: String, environment: [String: String] = [:]) throws -> TrustSettings {
        try ConfigurationTests.load(ConfigurationTests.good + text, environment: environment).trust
    }

    private func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
        ConfigurationTests.problems(ConfigurationTests.good + text, environment: environment).map(\.description)
    }

    private func account() throws -> String {
        var text = JSONWriter()
        text.beginObject()
        text.member("type", "service_account")
        text.member("client_email", "judge@example.iam.gserviceaccount.com")
        text.member("private_key", try PrivateKey.generate(.rsa(bits: 2048)).pem())
        text.endObject()
        return text.text
    }

    @Test func `by itself the gateway asks nobody and takes the roots that it carries`() throws {
        let trust = try settings("")
        #expect(trust.directory == nil && trust.statusList == nil && trust.playAccount == nil)
        #expect(trust.environments == [.production, .development])
        #expect(trust.playIntegrity.description == "https://playintegrity.googleapis.com/")
    }

    @Test func `every key of the section is read`() throws {
        let trust = try settings(
            """
            trust:
              status_list: https://mirror.example/list
              interval: 2h
              play_integrity: https://mirror.example:8443
              play_deadline: 500ms
            """
        )
        #expect(trust.statusList?.description == "https://mirror.example/list")
        #expect(trust.interval == .seconds(7_200) && trust.playDeadline == .milliseconds(500))
        #expect(trust.playIntegrity.authority == "mirror.example:8443")
    }

    @Test(arguments: [
        ("trust: { status_list: http://mirror.example/ }", "https"), ("trust: { interval: 1m }", "interval"),
        ("trust: { directory: /nonexistent }", "the trust bundle does not read"),
        ("trust: { ca: /nonexistent.pem }", "a file that can be read"), ("trust: { roots: x }", "unknown key"),
        ("trust: { play_deadline: 1h }", "play_deadline"),
    ])
    func `what cannot be meant is a problem`(text: String, words: String) {
        let found = problems(text)
        #expect(found.count == 1 && found[0].contains(words), "\(found)")
    }

    @Test func `credentials come from the environment, ours before the vendor's name`() throws {
        let account = try account()
        let trust = try settings(
            "",
            environment: [
                "VOUCH_PLAY_INTEGRITY_CREDENTIALS": account, "VOUCH_APP_ATTEST_ENV": "production",
                "SALLYPORT_APP_ATTEST_ENV": "development",
            ]
        )
        #expect(trust.playAccount?.email == "judge@example.iam.gserviceaccount.com")
        #expect(trust.environments == [.development])
    }

    @Test(arguments: [
        ("VOUCH_PLAY_INTEGRITY_CREDENTIALS", "{}", "\"type\" is missing or wrong"),
        ("VOUCH_PLAY_INTEGRITY_CREDENTIALS", "{", "not JSON"),
        ("SALLYPORT_PLAY_INTEGRITY_CREDENTIALS", "/nonexistent.json", "cannot read the file"),
        ("VOUCH_APP_ATTEST_ENV", "staging", "production or development"),
    ])
    func `a variable that cannot be used is told, not ignored`(name: String, value: String, words: String) {
        let found = problems("", environment: [name: value])
        #expect(found.count == 1 && found[0].contains(words) && found[0].contains(name), "\(found)")
    }
}
