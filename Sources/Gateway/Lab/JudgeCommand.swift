// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
import Encodings

/// `lab judge`: verdicts on vector files, so that anyone can check the verifiers from outside.
package struct JudgeCommand {
    /// The files, directories of files, or `-` for one vector a line on standard input.
    package var paths: [String]
    /// Whether only judgements are printed, one JSON object a line.
    package var printsJSON: Bool
    /// Where trust roots that a vector names by file lie.
    package var trustDirectory: String?
    /// The time for vectors that name none.
    package var now: Moment

    /// A command with these options.
    package init(paths: [String], printsJSON: Bool, trustDirectory: String?, now: Moment) {
        self.paths = paths
        self.printsJSON = printsJSON
        self.trustDirectory = trustDirectory
        self.now = now
    }

    /// Judges everything and prints as it goes; the result says whether nothing differed from what files expect.
    package func run(print: (String) -> Void, complain: (String) -> Void) -> Bool {
        var isClean = true
        for path in paths {
            if path == "-" {
                while let line = readLine(strippingNewline: true) {
                    if !line.isEmpty { isClean = judge(Array(line.utf8), name: "-", print, complain) && isClean }
                }
                continue
            }
            do {
                for file in try Self.files(at: path) {
                    isClean = judge(try SmallFile.read(file), name: file, print, complain) && isClean
                }
            } catch {
                complain("\(error)")
                isClean = false
            }
        }
        return isClean
    }

    private static func files(at path: String) throws(FileFailure) -> [String] {
        guard SmallFile.isDirectory(path) else { return [path] }
        var files: [String] = []
        for name in try SmallFile.names(in: path) {
            let inner = "\(path)/\(name)"
            if SmallFile.isDirectory(inner) {
                files += try Self.files(at: inner)
            } else if name.hasSuffix(".json") {
                files.append(inner)
            }
        }
        return files
    }

    private func judge(_ bytes: [UInt8], name: String, _ print: (String) -> Void, _ complain: (String) -> Void) -> Bool
    {
        do {
            let vector = try ProofVector(parsing: bytes)
            let judgement = try vector.judged(at: now, rootText: rootText)
            let difference = vector.difference(from: judgement)
            if printsJSON {
                print(judgement.json)
            } else {
                let reasons = judgement.reasons.map(\.rawValue).joined(separator: ", ")
                let label = vector.id.isEmpty ? name : vector.id
                print("\(label): \(judgement.verdict)\(reasons.isEmpty ? "" : " (\(reasons))")")
                if let difference { print("  differs: \(difference)") }
            }
            return difference == nil
        } catch {
            complain("\(name): \(error)")
            // Whoever reads line by line must get a line for each.
            if printsJSON { print("{\"error\":\"unreadable vector\"}") }
            return false
        }
    }

    private func rootText(_ name: String) -> String? {
        guard let directory = trustDirectory else { return BuiltInTrust.text(ofFile: name) }
        guard !name.contains("/") else { return nil }
        do {
            return String(decoding: try SmallFile.read("\(directory)/\(name)"), as: UTF8.self)
        } catch {
            return nil
        }
    }
}
