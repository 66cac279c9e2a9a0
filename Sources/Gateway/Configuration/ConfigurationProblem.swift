// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One thing that is wrong with a file.
package struct ConfigurationProblem: Error, Sendable, Equatable {
    package var file: String
    /// Counted from 1; 0 when the problem has no place in the file.
    package var line: Int
    package var column: Int
    /// Where in the structure, such as `routes[2].access.credentials[0]`.
    package var path: String
    /// What was found; never a secret.
    package var found: String?
    /// What is wrong and what was expected, one sentence.
    package var expectation: String
    /// A near match: "did you mean …".
    package var hint: String?
    /// Whether another machine, or another user here, may find nothing wrong: `check` only warns of it.
    package var isOfThisMachine = false

    package static func == (left: ConfigurationProblem, right: ConfigurationProblem) -> Bool {
        left.file == right.file && left.path == right.path && left.expectation == right.expectation
    }
}

extension ConfigurationProblem: CustomStringConvertible {
    /// The form `file:line:column: path: expectation, found "value"; did you mean "x"?`.
    package var description: String {
        var text = line > 0 ? "\(file):\(line):\(column): " : "\(file): "
        if !path.isEmpty { text += "\(path): " }
        text += expectation
        if let found { text += ", found \"\(found)\"" }
        if let hint { text += "; did you mean \"\(hint)\"?" }
        return text
    }
}

/// Everything that is wrong with a file, in the order of its lines.
package struct ConfigurationProblems: Error, Sendable, Equatable {
    package var problems: [ConfigurationProblem]

    package init(_ problems: [ConfigurationProblem]) {
        self.problems = problems
    }
}

extension ConfigurationProblems: CustomStringConvertible {
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
