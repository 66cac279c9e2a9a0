// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// The text of the configuration in force, kept in the state directory: all that a child ever reads its rules from.
///
/// The file that the operator edits is read by `run` and by a reload that was asked for, and only its checked text
/// comes here. So a child that is started again runs what the others run, whatever the file says meanwhile.
struct AcceptedConfiguration: Sendable {
    let paths: StatePaths
    /// The operator's file: what problems name, and where relative paths start.
    let path: String
    let environment: [String: String]

    /// Puts a checked text in force for whoever reads next; nobody ever sees half of it.
    func keep(_ text: [UInt8], owner: Account? = nil) throws(ProcessFault) {
        do {
            // No fsync: every start writes it anew.
            try Files.replace(paths.configuration, with: text, owner: owner, isDurable: false)
        } catch {
            throw ProcessFault(doing: "keep the configuration in \(paths.configuration)", error)
        }
    }

    /// Reads the text in force; `check` looks at the certificates it names, which may have changed since.
    func load(check: @escaping CertificateCheck = CertificateFiles.check) throws(ProcessFault) -> Configuration {
        let text: [UInt8]
        switch Files.read(paths.configuration, limit: YAMLDocument.maximumBytes) {
        case .success(let bytes): text = bytes
        case .failure(let fault): throw ProcessFault(doing: "read \(paths.configuration)", fault)
        }
        do {
            return try Configuration(parsing: text, path: path, environment: environment, check: check)
        } catch {
            throw ProcessFault(error.problems.map(\.description).joined(separator: "\n"))
        }
    }
}
