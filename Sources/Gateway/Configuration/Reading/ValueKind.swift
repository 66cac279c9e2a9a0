// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// A type of values: how it is called in the documentation, read and written.
struct ValueKind<Value: Sendable>: Sendable {
    let name: String
    /// nil means that a problem was reported.
    let read: @Sendable (ValueReader) -> Value?
    let write: @Sendable (Value) -> String

    init(
        _ name: String,
        read: @escaping @Sendable (ValueReader) -> Value?,
        write: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.name = name
        self.read = read
        self.write = write
    }

    /// Reads a text and turns it into the value, or expects what `expectation` says.
    init(
        _ name: String,
        _ expectation: String,
        parse: @escaping @Sendable (String) -> Value?,
        write: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.init(
            name,
            read: { reader in
                guard let text = reader.text(expectation) else { return nil }
                return parse(text) ?? reader.refuse(expectation)
            },
            write: write
        )
    }
}

extension ValueKind where Value == Int {
    /// A whole number without quotes.
    static func integer(_ range: ClosedRange<Int>) -> ValueKind {
        let expectation = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return ValueKind("number") { reader in
            guard case .scalar(let text, isPlain: true) = reader.node.content, let value = Int(text),
                range.contains(value)
            else { return reader.refuse(expectation) }
            return value
        }
    }
}

extension ValueKind where Value == Bool {
    /// `true` or `false`, and none of YAML's other words for them.
    static let flag = ValueKind("true or false") { reader in
        guard case .scalar(let text, isPlain: true) = reader.node.content, let value = Bool(text) else {
            return reader.refuse("true or false")
        }
        return value
    }
}

extension ValueKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the words of an enumeration.
    static var choice: ValueKind {
        let words = Value.allCases.map(\.rawValue)
        let expectation = "one of " + words.joined(separator: ", ")
        return ValueKind(
            words.joined(separator: ", "),
            read: { reader in
                guard let text = reader.text(expectation) else { return nil }
                return Value(rawValue: text)
                    ?? reader.refuse(expectation, hint: NearMatch.closest(to: text, among: words))
            },
            write: { $0.rawValue }
        )
    }
}

extension ValueKind {
    /// A list of values; items that are wrong do not hide the others' problems.
    static func list<Item: Sendable>(of kind: ValueKind<Item>, atLeast least: Int = 0) -> ValueKind
    where Value == [Item] {
        let expectation = least == 0 ? "a list" : "a list of at least \(least)"
        return ValueKind(
            "list of \(kind.name)",
            read: { reader in
                guard case .sequence(let nodes) = reader.node.content, nodes.count >= least else {
                    return reader.refuse(expectation)
                }
                let items = nodes.enumerated().compactMap { kind.read(reader.inner($1, "[\($0)]")) }
                return items.count == nodes.count ? items : nil
            },
            write: { "[" + $0.map(kind.write).joined(separator: ", ") + "]" }
        )
    }

    /// A mapping whose keys are names that the user chooses.
    static func named<Item: Sendable>(_ kind: ValueKind<Item>) -> ValueKind where Value == [Named<Item>] {
        ValueKind(
            "sections by name",
            read: { reader in
                guard case .mapping(let members) = reader.node.content else { return reader.refuse("a section") }
                var items: [Named<Item>] = []
                for member in members {
                    if Name.parse(member.key) == nil {
                        reader.context.report(
                            "expected \(Name.expectation)",
                            at: member.position,
                            path: reader.path,
                            found: member.key
                        )
                    }
                    guard let value = kind.read(reader.inner(member.value, ".\(member.key)")) else { continue }
                    items.append(Named(name: member.key, position: member.position, value: value))
                }
                return items.count == members.count ? items : nil
            },
            write: { _ in "{}" }
        )
    }

    /// A section with its own keys.
    static func section(
        _ schema: SectionSchema,
        read: @escaping @Sendable (SectionReader) -> Value?
    ) -> ValueKind {
        ValueKind(
            "section",
            read: { reader in SectionReader(reader, schema).flatMap(read) },
            write: { _ in "" }
        )
    }

    /// The value with the place where it was written, for checks that come later.
    var located: ValueKind<Located<Value>> {
        ValueKind<Located<Value>>(
            name,
            read: { reader in
                self.read(reader).map { Located(value: $0, position: reader.node.position, path: reader.path) }
            },
            write: { self.write($0.value) }
        )
    }
}

/// A value under a name that the user chose.
struct Named<Value: Sendable>: Sendable {
    let name: String
    let position: YAMLPosition
    let value: Value
}

/// A value and where it was written.
struct Located<Value: Sendable>: Sendable {
    let value: Value
    let position: YAMLPosition
    let path: String
}
