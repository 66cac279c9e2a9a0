// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
import Encodings

/// A trust bundle's directory, and trying a bundle on stored proofs.
package struct TrustDirectory: Sendable {
    /// Where it is; nil for what the program carries.
    package let path: String?

    /// The bundle at `path`.
    package init(path: String?) {
        self.path = path
    }

    /// The bundle as it is now.
    package func bundle() throws(TrustBundle.ParseError) -> TrustBundle {
        guard path != nil else { return try .builtIn() }
        guard let manifest = bytes(TrustBundle.manifestName) else { throw .missing(TrustBundle.manifestName) }
        return try TrustBundle(manifest: manifest, file: bytes)
    }

    /// A file of the bundle.
    package func bytes(_ name: String) -> [UInt8]? {
        guard let path else { return BuiltInTrust.text(ofFile: name).map { Array($0.utf8) } }
        guard !name.hasPrefix("/"), !name.split(separator: "/").contains("..") else { return nil }
        do {
            return try SmallFile.readRegular("\(path)/\(name)")
        } catch {
            return nil
        }
    }

    /// Replaces the status list in the directory: the list first, then the manifest that names it.
    package func store(statusList bytes: [UInt8], fetchedAt: Moment) throws(FileFailure) {
        guard let path, let manifest = self.bytes(TrustBundle.manifestName) else { return }
        let name = "status-list.json"
        let document: JSONValue
        do {
            document = try JSONValue(parsing: manifest, limits: .document)
        } catch {
            throw FileFailure(path: "\(path)/\(TrustBundle.manifestName)", reason: "not JSON")
        }
        guard var object = document.object else { return }
        var list = JSONObject()
        list.set("file", .string(name))
        list.set("fetched_at", .string(InternetTime.text(seconds: fetchedAt.seconds)))
        object.set("status_list", .object(list))
        var writer = JSONWriter()
        writer.value(.object(object))
        try SmallFile.write(bytes, to: "\(path)/\(name)", isPublic: true)
        try SmallFile.write(writer.bytes + [10], to: "\(path)/\(TrustBundle.manifestName)", isPublic: true)
    }
}

/// Tries a trust bundle on proofs whose verdict is known, at their own times or through time.
package struct TrustTrial {
    /// A proof and what became of it.
    package struct Outcome: Sendable {
        /// The file.
        package let name: String
        /// Its verdict now, in the vectors' words.
        package let verdict: String
        /// How it differs from what the file expects; nil if it does not.
        package let difference: String?
    }

    /// From one moment on a proof has another verdict.
    package struct Change: Sendable {
        /// The first second of the new verdict.
        package let moment: Moment
        /// The verdict and its reasons from then on.
        package let verdict: String
    }

    private let directory: TrustDirectory

    /// Trials of the roots in `directory`.
    package init(_ directory: TrustDirectory) {
        self.directory = directory
    }

    /// The verdict on a stored proof at its own time.
    package func outcome(of name: String, _ bytes: [UInt8], at now: Moment) -> Outcome {
        do {
            let vector = try ProofVector(parsing: bytes)
            let judgement = try vector.judged(at: now, rootText: rootText)
            return Outcome(
                name: name,
                verdict: Self.words(judgement),
                difference: vector.difference(from: judgement)
            )
        } catch {
            return Outcome(name: name, verdict: "unreadable", difference: "\(error)")
        }
    }

    /// Every change of a proof's verdict from `start` on, found to the second.
    package func sweep(_ bytes: [UInt8], from start: Moment, days: Int) -> [Change] {
        let vector: ProofVector
        do {
            vector = try ProofVector(parsing: bytes)
        } catch {
            return []
        }
        func words(_ seconds: Int64) -> String {
            do {
                return Self.words(try vector.judged(exactlyAt: Moment(seconds: seconds), rootText: rootText))
            } catch {
                return "unreadable"
            }
        }
        var changes = [Change(moment: start, verdict: words(start.seconds))]
        for day in 0..<Int64(days) {
            var low = start.seconds + day * 86_400
            var high = low + 86_400
            let before = words(low)
            guard words(high) != before else { continue }
            // Dates within one day could change it twice; the sweep then shows the first change and the day's end.
            while high - low > 1 {
                let middle = (low + high) / 2
                if words(middle) == before { low = middle } else { high = middle }
            }
            changes.append(Change(moment: Moment(seconds: high), verdict: words(high)))
        }
        return changes
    }

    private func rootText(_ name: String) -> String? {
        (directory.bytes(name) ?? BuiltInTrust.text(ofFile: name).map { Array($0.utf8) })
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func words(_ judgement: ProofJudgement) -> String {
        let reasons = judgement.reasons.map(\.rawValue).joined(separator: ", ")
        return reasons.isEmpty ? judgement.verdict : "\(judgement.verdict) (\(reasons))"
    }
}
