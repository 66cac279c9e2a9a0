// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One key of a section: its type, whether it may be left out, and what it is then.
///
/// The standard value is written here and nowhere else; `config/README.md` is compared with these.
struct Setting<Value: Sendable>: Sendable {
    enum Presence: Sendable {
        case required
        case optional
        case standard(Value)
        /// A section that is read as if it were empty when it is left out.
        case implied
    }

    let name: String
    let kind: ValueKind<Value>
    let presence: Presence
    /// Whether a reload takes it up; what only a restart can change is said so.
    let reload: Reload
    let note: String

    init(
        _ name: String,
        _ kind: ValueKind<Value>,
        _ presence: Presence,
        _ note: String,
        reload: Reload = .inPlace
    ) {
        self.name = name
        self.kind = kind
        self.presence = presence
        self.note = note
        self.reload = reload
    }

    /// The setting as the documentation shows it.
    var row: SettingRow {
        let standard =
            switch presence {
            case .required: "required"
            case .optional: "-"
            case .standard(let value): "`\(kind.write(value))`"
            case .implied: "as below"
            }
        return SettingRow(name: name, type: kind.name, standard: standard, reload: reload, note: note)
    }
}

/// When a changed value takes effect.
enum Reload: String, Sendable {
    case inPlace = "reload"
    case restart
}

/// One line of the documentation's table.
struct SettingRow: Sendable, Equatable {
    let name: String
    let type: String
    let standard: String
    let reload: Reload
    let note: String
}

/// The keys of a section.
struct SectionSchema: Sendable {
    /// Such as `routes[].match`; empty for the top.
    let path: String
    let rows: [SettingRow]

    init(_ path: String, _ rows: [SettingRow]) {
        self.path = path
        self.rows = rows
    }
}
