// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Testing

@testable import Gateway

@Suite struct AnswerSpliceTests {
    private let verdict = SignInVerdict(trust: .degraded, reason: .bootloaderUnlocked)
    private static let object = #"{"status":"degraded","trust":"degraded","reason":"bootloader_unlocked"}"#

    private func read(_ text: String) -> Result<AnswerSplice, SpliceFault> {
        Result { () throws(SpliceFault) in try AnswerSplice(Array(text.utf8)) }
    }

    private func splice(_ text: String) -> String? {
        guard case .success(let answer) = read(text) else { return nil }
        return String(decoding: answer.setting(attestation: verdict.json), as: UTF8.self)
    }

    @Test(arguments: [
        (#"{"message":"OK","data":{"token":"t"}}"#, #"{"message":"OK","data":{"token":"t","attestation":@}}"#),
        (#"{"data":{}}"#, #"{"data":{"attestation":@}}"#),
        (#"{"data":{ }}"#, #"{"data":{"attestation":@ }}"#),
        (
            "{ \"data\" : {\n  \"a\": [1, {\"b\": \"}\"}]\n} }",
            "{ \"data\" : {\n  \"a\": [1, {\"b\": \"}\"}],\"attestation\":@\n} }"
        ),
        (
            #"{"data":{"n":1.50e+3,"big":12345678901234567890},"x":[]}"#,
            #"{"data":{"n":1.50e+3,"big":12345678901234567890,"attestation":@},"x":[]}"#
        ),
        (#"{"other":{"data":{}},"data":{"z":null}}"#, #"{"other":{"data":{}},"data":{"z":null,"attestation":@}}"#),
        (#"{"d\u0061ta":{"q":"\"},{"}}"#, #"{"d\u0061ta":{"q":"\"},{","attestation":@}}"#),
    ])
    func `one member is added and every other byte stays`(_ before: String, _ after: String) {
        #expect(splice(before) == after.replacing("@", with: Self.object))
    }

    @Test func `what the upstream claims about the attestation is replaced`() {
        let before = #"{"data":{"attestation":{"status":"verified","trust":"hardware"},"token":"t"}}"#
        #expect(splice(before) == #"{"data":{"attestation":\#(Self.object),"token":"t"}}"#)
    }

    @Test(arguments: [
        ("", SpliceFault.notJSON), (#"{"data":{}} x"#, .notJSON), (#"{"data":{}}{}"#, .notJSON),
        (#"{"data":{}"#, .notJSON),
        ("\u{feff}{\"data\":{}}", .notJSON), ("{\"data\":{\"a\":\"\u{1}\"}}", .notJSON),
        (#"{"data":{"a":01}}"#, .notJSON),
        (#"{'data':{}}"#, .notJSON), (#"{"data":{},}"#, .notJSON), ("null", .noData), ("[]", .noData), ("7", .noData),
        (#"{"message":"OK"}"#, .noData), (#"{"Data":{}}"#, .noData), (#"[{"data":{}}]"#, .noData),
        (#"{"data":null}"#, .dataNotObject), (#"{"data":[]}"#, .dataNotObject), (#"{"data":"{}"}"#, .dataNotObject),
        (#"{"data":{},"data":{}}"#, .repeatedName), (#"{"data":{},"x":1,"d\u0061ta":{}}"#, .repeatedName),
        (#"{"\u0064ata":null,"data":{}}"#, .repeatedName), (#"{"data":{"a":1,"a":2}}"#, .repeatedName),
        (#"{"data":{"attestation":{},"attest\u0061tion":{}}}"#, .repeatedName),
        (#"{"x":{"y":1,"y":1},"data":{}}"#, .repeatedName),
        (#"{"data":\#(String(repeating: "[", count: 80))\#(String(repeating: "]", count: 80))}"#, .tooLong),
    ])
    func `what has no one object data is left alone, and the log says why`(_ text: String, _ fault: SpliceFault) {
        guard case .failure(let found) = read(text) else {
            Issue.record("\(text) is spliced")
            return
        }
        #expect(found == fault)
    }

    @Test func `the token is found with its escapes resolved`() throws {
        func token(_ text: String) throws -> String? { try AnswerSplice(Array(text.utf8)).text(of: "token") }
        #expect(try token(#"{"data":{"user":{"token":"no"},"token":"a\/b\u0063"}}"#) == "a/bc")
        #expect(try token(#"{"data":{"token":7}}"#) == nil)
        #expect(try token(#"{"data":{}}"#) == nil)
    }

    @Test func `more than a mebibyte is left alone`() {
        let filler = String(repeating: "a", count: AnswerSplice.mostBytes - 18)
        let isSpliced = splice(#"{"data":{},"x":"\#(filler)"}"#) != nil
        let isLongerSpliced = splice(#"{"data":{},"x":"\#(filler)a"}"#) != nil
        #expect(isSpliced)
        #expect(!isLongerSpliced)
    }

    @Test func `an entity tag of a spliced answer is weak`() {
        #expect(AnswerSplice.entityTag(#""a""#) == #"W/"a""#)
        #expect(AnswerSplice.entityTag(#"W/"a""#) == #"W/"a""#)
    }

    @Test(arguments: [(200, true), (201, true), (203, true), (204, false), (205, false), (206, false)])
    func `an answer without a whole representation is not held`(_ status: Int, _ mayHold: Bool) {
        #expect(AnswerSplice.mayHold(status) == mayHold)
    }

    @Test func `the fields of a verdict say what the body says`() {
        #expect(
            verdict.answerFields.map(\.value) == ["degraded", "degraded", "bootloader_unlocked"]
        )
        #expect(SignInVerdict(trust: .hardware).answerFields.map(\.value) == ["verified", "hardware"])
    }
}
