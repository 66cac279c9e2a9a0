// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Encodings
import Foundation
import Testing

/// What holds for every proof, tried on mutations of the vectors from a fixed seed.
@Suite struct ProofPropertyTests {
    @Test(arguments: Vectors.folders)
    func `no changed byte of a proof raises its verdict`(folder: String) throws {
        var random = SplitMix(state: 0x5EED)
        for file in try Vectors.files(in: folder) {
            let document = try JSONValue(parsing: try Vectors.bytes(file), limits: .document)
            let before = try Self.judged(document)
            for _ in 0..<12 {
                let mutated = Self.mutated(document, &random)
                // A mutation may break the file itself, which is no proof then.
                guard let after = try? Self.judged(mutated) else { continue }
                #expect(
                    Self.rank(after) <= Self.rank(before),
                    "\(file.lastPathComponent): \(before.verdict) became \(after.json)"
                )
            }
        }
    }

    @Test(arguments: Vectors.folders)
    func `a verdict does not depend on what nobody signed or registered`(folder: String) throws {
        for file in try Vectors.files(in: folder) {
            let document = try JSONValue(parsing: try Vectors.bytes(file), limits: .document)
            let before = try Self.judged(document)
            var object = try #require(document.object)
            for name in ["id", "title", "origin", "source", "payload", "expected", "why", "binding"] {
                object.set(name, .string("changed"))
            }
            #expect(try Self.judged(.object(object)) == before, "\(file.lastPathComponent)")
        }
    }

    @Test func `the receipt of an attestation changes nothing`() throws {
        let file = Vectors.root.appending(path: "Tests/Vectors/app-attest/real-att-prod-ios14.0.json")
        let document = try JSONValue(parsing: try Vectors.bytes(file), limits: .document)
        let before = try Self.judged(document)
        var bytes = try Base64.decode(try #require(document["input"]?["attestation"]?.string))
        let receipt = try #require(try CBORReader.value(of: bytes)["attStmt"]?["receipt"]?.bytes)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: receipt) })
        for offset in stride(from: 0, to: receipt.count, by: 97) {
            bytes[start + offset] ^= 0x55
            let changed = Self.setting(document, "attestation", .string(Base64.encode(bytes)))
            #expect(try Self.judged(changed) == before)
        }
    }

    @Test func `a longer list of roots, apps or challenges never lowers a verdict`() throws {
        for folder in ["app-attest", "android-key"] {
            for file in try Vectors.files(in: folder) {
                let document = try JSONValue(parsing: try Vectors.bytes(file), limits: .document)
                guard var object = document.object, let roots = document["trust_roots"]?.array else { continue }
                object.set("trust_roots", .array(roots + [.string("apple-app-attestation-root-ca.pem")]))
                let after = try Self.judged(.object(object))
                #expect(Self.rank(after) >= Self.rank(try Self.judged(document)), "\(file.lastPathComponent)")
            }
        }
    }

    private static func judged(_ document: JSONValue) throws -> ProofJudgement {
        var writer = JSONWriter()
        writer.value(document)
        return try ProofVector(parsing: writer.bytes).judged(at: Vectors.now, rootText: Vectors.rootText)
    }

    private static func rank(_ judgement: ProofJudgement) -> Int {
        switch judgement.verdict {
        case "accepted", "hardware", "pass": 2
        case "degraded": 1
        default: 0
        }
    }

    /// One byte of one proof changed, dropped or doubled, within its encoding.
    private static func mutated(_ document: JSONValue, _ random: inout SplitMix) -> JSONValue {
        if let chain = document["input"]?["certificate_chain"]?.array, !chain.isEmpty {
            let place = Int.random(in: 0..<chain.count, using: &random)
            var changed = chain
            changed[place] = .string(mutated(chain[place].string ?? "", &random))
            return setting(document, "certificate_chain", .array(changed))
        }
        for field in ["attestation", "assertion"] {
            guard let text = document["input"]?[field]?.string else { continue }
            return setting(document, field, .string(mutated(text, &random)))
        }
        let parts = (document["input"]?["token"]?.string ?? "").split(separator: ".").map { String($0) }
        guard !parts.isEmpty else { return document }
        let place = Int.random(in: 0..<parts.count, using: &random)
        var changed = parts
        let bytes = (try? Base64.decode(parts[place], alphabet: .urlSafe, padding: .forbidden)) ?? []
        changed[place] = Base64.encodeURL(mutated(bytes, &random))
        return setting(document, "token", .string(changed.joined(separator: ".")))
    }

    private static func mutated(_ text: String, _ random: inout SplitMix) -> String {
        let bytes = (try? Base64.decode(text, alphabet: .either, padding: .optional)) ?? []
        return Base64.encode(mutated(bytes, &random))
    }

    private static func mutated(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        guard !bytes.isEmpty else { return [0] }
        var bytes = bytes
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(bytes[place], at: place)
        case 2: bytes[place] = 0
        default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        return bytes
    }

    private static func setting(_ document: JSONValue, _ field: String, _ value: JSONValue) -> JSONValue {
        guard var object = document.object, var input = object["input"]?.object else { return document }
        input.set(field, value)
        object.set("input", .object(input))
        return .object(object)
    }
}

/// A small generator with a seed, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
