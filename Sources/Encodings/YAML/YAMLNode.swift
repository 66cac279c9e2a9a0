// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A place in a YAML text; both are counted from 1.
package struct YAMLPosition: Sendable, Equatable {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// One node of a YAML document, and where it begins.
package struct YAMLNode: Sendable {
    package var position: YAMLPosition
    package var content: YAMLContent

    package init(position: YAMLPosition, content: YAMLContent) {
        self.position = position
        self.content = content
    }
}

/// What a node holds.
///
/// Scalars stay texts: what they mean is for the reader that knows what it expects.
package enum YAMLContent: Sendable {
    /// `isPlain`: written without quotes, so that it may also mean a number, a truth value or nothing.
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    /// In the order of the text; no key twice.
    case mapping([YAMLMember])
}

/// A key of a mapping with its value.
package struct YAMLMember: Sendable {
    package var key: String
    package var position: YAMLPosition
    package var value: YAMLNode
}

extension YAMLNode {
    /// Whether it is written as nothing: empty, `~` or `null`, without quotes.
    package var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return text.isEmpty || text == "~" || text == "null"
    }
}

/// What is wrong with a YAML text.
package struct YAMLProblem: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case syntax, tooLarge, tooDeep, tooManyNodes, notUTF8
        case anchor, alias, tag, complexKey, severalDocuments
        case duplicateKey(String)
    }

    package var kind: Kind
    package var position: YAMLPosition
    /// One sentence without a full stop.
    package var sentence: String
}
