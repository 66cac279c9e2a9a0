// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A YAML text read into a tree, with everything that is wrong with it.
///
/// Only what a configuration needs is taken: one document of mappings with plain keys, sequences and scalars. Anchors,
/// aliases and tags are refused, since they make a text mean something else than it says.
package struct YAMLDocument: Sendable {
    /// nil when the text is empty or stops being YAML somewhere.
    package private(set) var root: YAMLNode?
    package private(set) var problems: [YAMLProblem] = []

    /// The most bytes that are read: far more than any configuration has.
    package static let maximumBytes = 4 << 20
    /// The deepest nesting; the deepest section of ours has six levels.
    package static let maximumDepth = 32
    /// The most nodes, so that a small text cannot make a large tree.
    package static let maximumNodes = 200_000

    /// Reads `bytes` whole.
    package init(parsing bytes: [UInt8]) {
        if bytes.count > Self.maximumBytes {
            fail(.tooLarge, line: 1, "the text is longer than \(Self.maximumBytes >> 20) MiB")
            return
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            fail(.notUTF8, line: 1, "the text is not UTF-8")
            return
        }
        let events = YAMLEvents(bytes)
        var reader = YAMLTreeReader(events: events)
        root = reader.document()
        problems = reader.problems
    }

    private mutating func fail(_ kind: YAMLProblem.Kind, line: Int, _ sentence: String) {
        problems.append(YAMLProblem(kind: kind, position: YAMLPosition(line: line, column: 1), sentence: sentence))
    }
}
