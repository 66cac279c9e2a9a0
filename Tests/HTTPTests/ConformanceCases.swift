// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Foundation

/// One case of the shared conformance kit that a parser alone can judge.
struct ConformanceCase: Sendable, CustomStringConvertible {
    var id: String
    var group: String
    /// The hardened expectation: reject, forward, safe, wait; for answers relay, relay-or-502, reject-up, truncated.
    var expectation: String
    /// What the client sends.
    var raw: [UInt8]
    /// What the upstream answers.
    var answer: [UInt8]
    /// Forwarded messages expected.
    var count: Int

    var description: String { id }

    static let all: [ConformanceCase] = load()

    private static func load() -> [ConformanceCase] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Interop/conformance/h1_cases.json").standardized
        guard let data = FileManager.default.contents(atPath: file.path),
            let object = (try? JSONSerialization.jsonObject(with: data)) as? [[String: Any]]
        else { return [] }
        return object.compactMap { entry in
            guard let id = entry["id"] as? String, let group = entry["group"] as? String,
                let expectation = (entry["hard"] ?? entry["expect"]) as? String
            else { return nil }
            return ConformanceCase(
                id: id,
                group: group,
                expectation: expectation,
                raw: bytes(entry["raw"]),
                answer: bytes(entry["up"]),
                count: entry["n"] as? Int ?? 1
            )
        }
    }

    private static func bytes(_ parts: Any?) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in parts as? [Any] ?? [] {
            if let text = part as? String {
                bytes += latin1(text)
            } else if let repeated = part as? [Any], let text = repeated.first as? String,
                let times = repeated.last as? Int
            {
                for _ in 0..<times { bytes += latin1(text) }
            }
        }
        return bytes
    }
}
