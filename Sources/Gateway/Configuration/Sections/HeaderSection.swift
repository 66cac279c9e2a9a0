// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import HTTP

/// The keys of `routes[].request_headers` and of `routes[].response_headers`.
enum HeaderSection {
    static let set = Setting(
        "set",
        ValueKind.fields,
        .standard([]),
        "Names with values (or `${env:…}`, `${file:…}`); replaces what is there."
    )
    static let remove = Setting("remove", ValueKind.list(of: ValueKind.editableField), .standard([]), "Names.")

    static let rows = [set.row, remove.row]

    static func kind(at path: String) -> ValueKind<HeaderEdits> {
        .section(SectionSchema(path, rows)) { section in
            let replaced = section.value(set)
            guard let removed = section.value(remove), let replaced else { return nil }
            for field in replaced where removed.contains(field.name) {
                section.report("a field is both set and removed", at: "remove", found: field.name)
            }
            return HeaderEdits(replaced: replaced, removed: removed)
        }
    }
}

extension ValueKind where Value == String {
    /// A field that a route may change: framing, hop-by-hop and the gateway's own fields are not its business.
    static let editableField = ValueKind(
        "field name",
        read: { reader in
            guard let name = ValueKind.fieldName.read(reader) else { return nil }
            return isReserved(name) ? reader.refuseSilently("the field \(name) is the gateway's own business") : name
        },
        write: { $0 }
    )

    private static func isReserved(_ name: String) -> Bool {
        let names = [
            "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
            "transfer-encoding", "upgrade",
        ]
        return names.contains(name) || KnownField(name.utf8.span) == .gatewayPrefixed
    }
}

extension ValueKind where Value == [HeaderField] {
    /// A section of field names with values.
    static let fields = ValueKind(
        "names with values",
        read: { reader in
            guard case .mapping(let members) = reader.node.content else {
                return reader.refuse("a section of field names with values")
            }
            let fields = members.compactMap { member -> HeaderField? in
                let key = YAMLNode(position: member.position, content: .scalar(member.key, isPlain: false))
                guard let name = ValueKind<String>.editableField.read(reader.inner(key, "")) else { return nil }
                return value(reader.inner(member.value, ".\(member.key)")).map { HeaderField(name: name, value: $0) }
            }
            return fields.count == members.count ? fields : nil
        },
        write: { _ in "{}" }
    )

    private static func value(_ reader: ValueReader) -> String? {
        guard case .scalar(let text, _) = reader.node.content else { return reader.refuse("a field value") }
        if !text.hasPrefix("${") {
            return HTTPCharacters.isFieldValue(text) ? text : reader.refuse("a field value in one line")
        }
        guard let secret = ValueKind<ConfiguredSecret>.secret.read(reader) else { return nil }
        guard let value = String(validating: secret.bytes, as: UTF8.self), HTTPCharacters.isFieldValue(value) else {
            return reader.refuseSilently("\(secret.reference) does not hold a field value in one line")
        }
        return value
    }
}
