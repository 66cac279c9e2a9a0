// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// What every reader of one file shares: where it lies, what `${…}` may name, and the problems found so far.
final class ReadingContext {
    /// As the user named it.
    let file: String
    /// Relative paths are relative to it; absolute.
    let directory: String
    let environment: [String: String]
    let checkCertificate: CertificateCheck
    let surroundings: Surroundings
    /// The upstreams as written, right or wrong: a mistake inside one does not make its routes wrong too.
    var upstreamNames: [String] = []
    /// Where this gateway itself listens, once the listeners were read.
    var listening: [ConfiguredAddress] = []
    private(set) var problems: [ConfigurationProblem] = []

    init(
        file: String,
        environment: [String: String],
        checkCertificate: @escaping CertificateCheck,
        surroundings: Surroundings
    ) {
        self.file = file
        let absolute = Files.absolute(file)
        let slash = absolute.lastIndex(of: "/") ?? absolute.startIndex
        self.directory = slash == absolute.startIndex ? "/" : String(absolute[..<slash])
        self.environment = environment
        self.checkCertificate = checkCertificate
        self.surroundings = surroundings
    }

    /// Notes a problem; reading goes on.
    func report(
        _ expectation: String,
        at position: YAMLPosition,
        path: String,
        found: String? = nil,
        hint: String? = nil,
        isOfThisMachine: Bool = false
    ) {
        problems.append(
            ConfigurationProblem(
                file: file,
                line: position.line,
                column: position.column,
                path: path,
                found: found,
                expectation: expectation,
                hint: hint,
                isOfThisMachine: isOfThisMachine
            )
        )
    }

    /// A path of the file made absolute.
    func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(directory)/\(path)"
    }

    /// All problems in the order of the lines.
    var sorted: [ConfigurationProblem] {
        problems.enumerated()
            .sorted {
                ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset)
            }
            .map(\.element)
    }
}
