// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Foundation
import Testing

@Suite struct TrustBundleTests {
    static let directory = Vectors.root.appending(path: "config/trust")

    static func file(_ name: String) -> [UInt8]? {
        do {
            return try Vectors.bytes(directory.appending(path: name))
        } catch {
            return nil
        }
    }

    static func shipped() throws -> TrustBundle {
        try TrustBundle(manifest: try #require(file(TrustBundle.manifestName)), file: file)
    }

    @Test func `the shipped bundle reads, and the one in the program is the same`() throws {
        let shipped = try Self.shipped()
        let builtIn = try TrustBundle.builtIn()
        #expect(shipped.version == builtIn.version && shipped.roots.count == 6)
        for (left, right) in zip(shipped.roots, builtIn.roots) {
            #expect(left.file == right.file && left.anchor.certificate.der == right.anchor.certificate.der)
        }
        for name in BuiltInTrust.names where name.hasSuffix(".pem") {
            #expect(BuiltInTrust.text(ofFile: name).map { Array($0.utf8) } == Self.file(name))
        }
        #expect(shipped.anchors.apple.count == 1 && shipped.anchors.android.count == 5)
    }

    @Test func `a manifest that lies about a root is refused`() throws {
        let manifest = String(decoding: try #require(Self.file(TrustBundle.manifestName)), as: UTF8.self)
        let lie = manifest.replacingOccurrences(of: "1cb9823b", with: "1cb9823c")
        #expect(lie != manifest)
        #expect(throws: TrustBundle.ParseError.unusable("apple-app-attestation-root-ca.pem")) {
            try TrustBundle(manifest: Array(lie.utf8), file: Self.file)
        }
        #expect(throws: TrustBundle.ParseError.missing("apple-app-attestation-root-ca.pem")) {
            try TrustBundle(manifest: Array(manifest.utf8)) { _ in nil }
        }
        #expect(throws: TrustBundle.ParseError.manifest("format")) {
            try TrustBundle(manifest: Array(#"{"format":2}"#.utf8), file: Self.file)
        }
    }

    @Test func `stored proofs verify under the bundle at their own times`() throws {
        let bundle = try Self.shipped()
        #expect(bundle.chains.count == 8)
        for name in bundle.chains {
            let vector = try ProofVector(parsing: try #require(Self.file(name)))
            let judgement = try vector.judged(at: Vectors.now, rootText: Vectors.rootText)
            #expect(["accepted", "hardware"].contains(judgement.verdict), "\(name): \(judgement.json)")
            #expect(vector.difference(from: judgement) == nil, "\(name)")
        }
    }

    @Test func `the report warns before anything runs out`() throws {
        let bundle = try Self.shipped()
        let calm = TrustReport(
            bundle.replacing(statusList: .empty, fetchedAt: Vectors.now),
            at: Vectors.now.adding(seconds: 3_600)
        )
        #expect(calm.warnings.isEmpty && calm.statusListAge == 1)
        #expect(TrustReport(bundle, at: Vectors.now).warnings.count == 1)
        let stale = TrustReport(
            bundle.replacing(statusList: .empty, fetchedAt: Vectors.now),
            at: Vectors.now.adding(seconds: 8 * 86_400)
        )
        #expect(stale.warnings == ["The status list is 8 days old."])
        // Apple's root ends on 2045-03-15.
        let late = TrustReport(
            bundle.replacing(statusList: .empty, fetchedAt: Moment(seconds: 2_370_000_000)),
            at: Moment(seconds: 2_370_000_000)
        )
        #expect(late.warnings.count == 1)
        #expect(late.rows.filter { $0.daysLeft < 0 }.allSatisfy { !$0.areDatesJudged })
    }
}

@Suite struct StatusListTests {
    @Test func `serial numbers are hexadecimal whatever their digits look like`() throws {
        let text = #"{"entries":{"00AB1":{"status":"REVOKED"},"123456":{"status":"SUSPENDED"},"c0":{"status":"NEW"}}}"#
        let list = try StatusList(parsing: Array(text.utf8))
        #expect(list.status(ofSerial: "ab1") == .revoked)
        #expect(list.status(ofSerial: "123456") == .suspended)
        #expect(list.status(ofSerial: "1e240") == nil)
        // A word that we do not know is no word of trust.
        #expect(list.status(ofSerial: "c0") == .unknown)
        #expect(list.status(ofSerial: "c1") == nil)
    }

    @Test(arguments: ["", "[]", "{}", #"{"entries":[]}"#, #"{"entries":{"a":{}}}"#, #"{"entries":{},"entries":{}}"#])
    func `anything else is no list`(text: String) {
        #expect(throws: (any Error).self) { try StatusList(parsing: Array(text.utf8)) }
    }
}

@Suite struct RefreshScheduleTests {
    @Test func `headers decide within bounds, failures ask again soon and then less often`() {
        let start = Moment(seconds: 0)
        var schedule = RefreshSchedule(startingAt: start)
        #expect(schedule.next == start)
        schedule.succeeded(at: start, cacheControl: "public, max-age=7200", entityTag: "\"a\"")
        #expect(schedule.next == Moment(seconds: 7_200) && schedule.entityTag == "\"a\"")
        schedule.succeeded(at: start, cacheControl: "max-age=1", entityTag: nil)
        #expect(schedule.next == Moment(seconds: RefreshSchedule.shortest) && schedule.entityTag == "\"a\"")
        schedule.succeeded(at: start, cacheControl: "max-age=99999999", entityTag: nil)
        #expect(schedule.next == Moment(seconds: RefreshSchedule.longest))
        schedule.succeeded(at: start, cacheControl: nil, entityTag: nil)
        #expect(schedule.next == Moment(seconds: RefreshSchedule.usual))
        schedule.failed(at: start)
        #expect(schedule.next == Moment(seconds: 60))
        schedule.failed(at: start)
        #expect(schedule.next == Moment(seconds: 120))
        for _ in 0..<20 { schedule.failed(at: start) }
        #expect(schedule.next == Moment(seconds: RefreshSchedule.usual))
    }
}
