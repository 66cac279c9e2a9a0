// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Foundation
import Testing

/// The shared vectors where the repository keeps them.
enum Vectors {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    static let folders = ["app-attest", "android-key", "play-integrity"]

    static func files(in folder: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: root.appending(path: "Tests/Vectors/\(folder)"),
            includingPropertiesForKeys: nil
        )
        .filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
    }

    static func vector(_ folder: String, _ id: String) throws -> ProofVector {
        try ProofVector(parsing: bytes(root.appending(path: "Tests/Vectors/\(folder)/\(id).json")))
    }

    static func bytes(_ file: URL) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: file))
    }

    static func rootText(_ name: String) -> String? {
        do {
            return String(decoding: try bytes(root.appending(path: "config/trust/\(name)")), as: UTF8.self)
        } catch {
            return nil
        }
    }

    static let now = Moment(seconds: 1_790_000_000)
}

@Suite struct ProofVectorTests {
    @Test(arguments: ["9300000000000000", "-1", "31536001"])
    func `a vector whose age cannot be meant is no vector`(age: String) throws {
        let file = try #require(try Vectors.files(in: "play-integrity").first)
        var text = String(decoding: try Vectors.bytes(file), as: UTF8.self)
        text = text.replacingOccurrences(of: #""max_age_seconds": *[0-9]+,"#, with: "", options: .regularExpression)
        let open = try #require(text.firstIndex(of: "{"))
        text.insert(contentsOf: "\"max_age_seconds\":\(age),", at: text.index(after: open))
        let vector = try ProofVector(parsing: Array(text.utf8))
        #expect(throws: ProofVector.ParseError.field("max_age_seconds")) {
            try vector.judged(at: Vectors.now, rootText: Vectors.rootText)
        }
    }

    @Test(arguments: zip(Vectors.folders, [104, 136, 65]))
    func `every vector gets the verdict and reason of its file`(folder: String, count: Int) throws {
        let files = try Vectors.files(in: folder)
        #expect(files.count == count)
        for file in files {
            let vector = try ProofVector(parsing: try Vectors.bytes(file))
            let judgement = try vector.judged(at: Vectors.now, rootText: Vectors.rootText)
            let expected = try #require(vector.expected)
            let word: String
            if let accepted = expected["accepted"]?.bool {
                word = accepted ? "accepted" : "refused"
            } else {
                word = try #require(expected["verdict"]?.string)
            }
            let name = file.lastPathComponent
            #expect(judgement.verdict == word, "\(name): \(judgement.json)")
            #expect(judgement.reason?.rawValue == expected["reason"]?.string, "\(name): \(judgement.json)")
            if let all = expected["reasons_all"]?.array {
                #expect(
                    Set(judgement.reasons.map(\.rawValue)) == Set(all.compactMap(\.string)),
                    "\(name): \(judgement.json)"
                )
            }
            try expectFacts(judgement, expected, name)
        }
    }

    /// Whatever the file says about an accepted or read proof is what we read.
    private func expectFacts(_ judgement: ProofJudgement, _ expected: JSONValue, _ name: String) throws {
        for field in ["environment", "counter", "public_key", "app", "stage"] {
            guard let value = expected[field], value != .null else { continue }
            #expect(judgement.facts[field] == value, "\(name): \(field) of \(judgement.json)")
        }
        for group in ["info", "extensions"] {
            for member in expected[group]?.object?.members ?? [] where member.value != .null {
                #expect(
                    judgement.facts[group]?[member.name] == member.value,
                    "\(name): \(member.name) of \(judgement.json)"
                )
            }
        }
    }
}
