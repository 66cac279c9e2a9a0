// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// One value of the file on its way to its meaning.
struct ValueReader {
    let node: YAMLNode
    /// Such as `routes[2].match.path`.
    let path: String
    let context: ReadingContext

    /// The text of a scalar; anything else is a problem.
    func text(_ expectation: String) -> String? {
        guard case .scalar(let text, _) = node.content, !node.isNull else { return refuse(expectation) }
        return text
    }

    /// Notes that the value is not what was expected.
    func refuse<Value>(_ expectation: String, hint: String? = nil) -> Value? {
        context.report("expected \(expectation)", at: node.position, path: path, found: found, hint: hint)
        return nil
    }

    /// Notes a problem of the value without repeating the value, which may be a secret.
    func refuseSilently<Value>(_ sentence: String) -> Value? {
        context.report(sentence, at: node.position, path: path)
        return nil
    }

    /// Notes that a file cannot be read; what stands in its place where only this user may not read it.
    func refuse<Value>(_ fault: FileFault, _ sentence: String, standIn: Value, isSecret: Bool = false) -> Value? {
        context.report(
            sentence,
            at: node.position,
            path: path,
            found: isSecret ? nil : found,
            isOfThisMachine: fault.isOfThisUser
        )
        return fault.isOfThisUser ? standIn : nil
    }

    /// A member or item of this value.
    func inner(_ node: YAMLNode, _ suffix: String) -> ValueReader {
        ValueReader(
            node: node,
            path: path.isEmpty && suffix.hasPrefix(".") ? String(suffix.dropFirst()) : path + suffix,
            context: context
        )
    }

    /// The value as it is shown, shortened.
    private var found: String {
        switch node.content {
        case .scalar where node.isNull: "nothing"
        // The whole file is no configuration: it may be a file of one secret, named by mistake.
        case .scalar where path.isEmpty: "plain text"
        case .scalar(let text, _): text.count > 80 ? text.prefix(80) + "…" : text
        case .sequence: "a list"
        case .mapping: "a section"
        }
    }
}
