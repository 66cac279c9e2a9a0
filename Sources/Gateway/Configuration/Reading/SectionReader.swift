// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// A section of the file, its keys already known to be keys of its schema.
struct SectionReader {
    let reader: ValueReader
    private let members: [String: YAMLMember]

    /// nil when the value is no mapping; unknown keys are reported with the nearest known one.
    init?(_ reader: ValueReader, _ schema: SectionSchema) {
        guard case .mapping(let written) = reader.node.content else {
            let _: Void? = reader.refuse("a section")
            return nil
        }
        let known = schema.rows.map(\.name)
        var members: [String: YAMLMember] = [:]
        for member in written {
            if known.contains(member.key) {
                members[member.key] = member
            } else {
                reader.context.report(
                    "unknown key; expected one of " + known.joined(separator: ", "),
                    at: member.position,
                    path: reader.path,
                    found: member.key,
                    hint: NearMatch.closest(to: member.key, among: known)
                )
            }
        }
        self.reader = reader
        self.members = members
    }

    var context: ReadingContext { reader.context }
    var path: String { reader.path }

    /// The setting's value; nil when it is optional and left out, or when a problem was reported.
    func value<Value>(_ setting: Setting<Value>) -> Value? {
        if let member = members[setting.name], !member.value.isNull {
            return setting.kind.read(reader.inner(member.value, ".\(setting.name)"))
        }
        switch setting.presence {
        case .optional: return nil
        case .standard(let value): return value
        case .implied:
            let empty = YAMLNode(position: position(of: setting.name), content: .mapping([]))
            return setting.kind.read(reader.inner(empty, ".\(setting.name)"))
        case .required:
            context.report("the key \"\(setting.name)\" is missing", at: position(of: setting.name), path: path)
            return nil
        }
    }

    func has(_ name: String) -> Bool { members[name].map { !$0.value.isNull } ?? false }

    /// The keys written under a key of this section, right or wrong.
    func keys(of name: String) -> [String] {
        guard case .mapping(let members)? = members[name]?.value.content else { return [] }
        return members.map(\.key)
    }

    /// Where the key is, or the section when it is not there.
    func position(of name: String) -> YAMLPosition { members[name]?.position ?? reader.node.position }

    /// Notes a problem at a key of the section.
    func report(
        _ sentence: String,
        at name: String? = nil,
        found: String? = nil,
        hint: String? = nil,
        isOfThisMachine: Bool = false
    ) {
        context.report(
            sentence,
            at: name.map(position) ?? reader.node.position,
            path: name.map { path.isEmpty ? $0 : "\(path).\($0)" } ?? path,
            found: found,
            hint: hint,
            isOfThisMachine: isOfThisMachine
        )
    }
}
