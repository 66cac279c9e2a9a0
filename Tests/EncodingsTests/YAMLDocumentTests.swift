// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Encodings

@Suite struct YAMLDocumentTests {
    private func parse(_ text: String) -> YAMLDocument { YAMLDocument(parsing: Array(text.utf8)) }

    /// The tree in one line: texts, `'…'` for quoted ones, and where each begins.
    private func shown(_ node: YAMLNode?) -> String {
        guard let node else { return "none" }
        let place = "@\(node.position.line):\(node.position.column)"
        switch node.content {
        case .scalar(let text, let isPlain): return (isPlain ? text : "'\(text)'") + place
        case .sequence(let nodes): return "[" + nodes.map(shown).joined(separator: " ") + "]" + place
        case .mapping(let members):
            return "{" + members.map { "\($0.key)=\(shown($0.value))" }.joined(separator: " ") + "}" + place
        }
    }

    @Test func `nodes know where they begin and how they were written`() {
        let document = parse("a: 1\nb:\n  - x\n  - \"y\"\nc: { d: 'e', f: [] }\n")
        #expect(document.problems.isEmpty)
        #expect(
            shown(document.root)
                == "{a=1@1:4 b=[x@3:5 'y'@4:5]@3:3 c={d='e'@5:9 f=[]@5:17}@5:4}@1:1"
        )
    }

    @Test func `nothing, a tilde and null are nothing, and quoted they are texts`() {
        for text in ["", "~", "null"] { #expect(parse("a: \(text)").root.map(firstValueIsNull) == true, "\(text)") }
        for text in ["''", "'~'", "\"null\"", "0", "no"] {
            #expect(parse("a: \(text)").root.map(firstValueIsNull) == false, "\(text)")
        }
    }

    private func firstValueIsNull(_ node: YAMLNode) -> Bool {
        guard case .mapping(let members) = node.content else { return false }
        return members.first?.value.isNull ?? false
    }

    @Test(arguments: [
        ("a: &x 1", YAMLProblem.Kind.anchor, 1), ("a: 1\nb: *x", .alias, 2), ("a: !!str 1", .tag, 1),
        ("a: 1\n\na: 2", .duplicateKey("a"), 3), ("? [a]\n: 1", .complexKey, 1),
        ("a: 1\n---\nb: 1", .severalDocuments, 3),
        ("a: [1", .syntax, 1), ("a: \"x", .syntax, 1), ("a: 1\n\tb: 2", .syntax, 2), ("a: @x", .syntax, 1),
    ])
    func `what is refused is named with its line`(text: String, kind: YAMLProblem.Kind, line: Int) {
        let problems = parse(text).problems
        #expect(problems.contains { $0.kind == kind && abs($0.position.line - line) <= 1 }, "\(problems)")
    }

    @Test func `problems that can be passed over do not hide each other`() {
        let document = parse("a: &x 1\nb: !t 2\na: 3\nc: *x\n")
        #expect(document.root != nil)
        #expect(document.problems.map(\.position.line) == [1, 2, 3, 4])
    }

    @Test func `a text within each limit is read and one beyond it is not`() {
        let deep = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
        #expect(parse(deep).problems.isEmpty)
        let deeper = String(repeating: "[", count: 33) + String(repeating: "]", count: 33)
        #expect(parse(deeper).problems.map(\.kind) == [.tooDeep])
        let many = "[" + String(repeating: "1,", count: YAMLDocument.maximumNodes + 1) + "]"
        #expect(parse(many).problems.map(\.kind) == [.tooManyNodes])
        let long = [UInt8](repeating: UInt8(ascii: " "), count: YAMLDocument.maximumBytes + 1)
        #expect(YAMLDocument(parsing: long).problems.map(\.kind) == [.tooLarge])
    }

    @Test func `bytes that are not UTF-8 and control characters are refused`() {
        #expect(YAMLDocument(parsing: [0x61, 0x3a, 0x20, 0xff]).problems.map(\.kind) == [.notUTF8])
        #expect(parse("a: \u{0}").problems.map(\.kind) == [.syntax])
        #expect(parse("").root == nil)
    }

    @Test func `an entity bomb stays small`() {
        var text = "a: &a [x,x,x,x,x,x,x,x,x]\n"
        for letter in "bcdefghi" {
            let previous = Character(UnicodeScalar(letter.asciiValue.map { $0 - 1 } ?? 97))
            text += "\(letter): &\(letter) [*\(previous),*\(previous),*\(previous)]\n"
        }
        let document = parse(text)
        #expect(!document.problems.isEmpty)
    }
}
