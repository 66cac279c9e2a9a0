// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One verb of the command line: how it is written, what it takes and what it does.
struct Command: Sendable {
    /// The words that name it, such as `keys create`.
    let words: [String]
    let summary: String
    var operands: [Operand] = []
    var options: [Option] = []
    /// Further help, printed below the options.
    var notes: String = ""
    let run: @Sendable (Invocation) throws(CommandFailure) -> Void

    var name: String { words.joined(separator: " ") }

    /// Whether it speaks with a running gateway, which may turn it away or not be there.
    var asksGateway: Bool { options.contains { $0.name == Option.config.name && $0.help == Option.config.help } }

    /// How it is written, with its operands and options.
    var usage: String {
        var parts = ["sallyport", name]
        for operand in operands { parts.append(operand.usage) }
        for option in options where !option.isCommon { parts.append(option.usage) }
        return parts.joined(separator: " ")
    }
}

/// A word after the verb.
struct Operand: Sendable {
    let name: String
    let help: String
    var isOptional = false
    /// Takes every further word too; only the last operand may.
    var mayRepeat = false

    var usage: String { (isOptional ? "[\(name)]" : name) + (mayRepeat ? "…" : "") }
}

/// A `--name`, with a value unless it is a switch.
struct Option: Sendable {
    let name: String
    /// What stands for the value in help; nil: a switch.
    var value: String?
    let help: String
    var isRequired = false
    var mayRepeat = false
    /// Listed in help, but not in the usage line: every verb has it.
    var isCommon = false

    var usage: String {
        let written = value.map { "\(name) \($0)" } ?? name
        return (isRequired ? written : "[\(written)]") + (mayRepeat ? "…" : "")
    }

    static let app = Option(
        name: "--app",
        value: "APP",
        help: "the App ID, record id or username; else SALLYPORT_APP, else the one app of sallyport.json"
    )
    /// For verbs that mean the gateway, or every app, where none is named.
    static let appIfAny = Option(
        name: "--app",
        value: "APP",
        help: "the App ID, record id or username; else SALLYPORT_APP"
    )
    static let json = Option(name: "--json", help: "print one JSON object", isCommon: true)
    static let config = Option(
        name: "--config",
        value: "FILE",
        help: "the gateway's file, to find its admin socket; else SALLYPORT_CONFIG",
        isCommon: true
    )
    static let configuration = Option(
        name: "--config",
        value: "FILE",
        help:
            "the configuration; else SALLYPORT_CONFIG, else sallyport.yaml, config/sallyport.yaml or /etc/sallyport/…",
        isCommon: true
    )
    static let help = Option(name: "--help", help: "print this", isCommon: true)
    /// What every verb that speaks with a running gateway takes.
    static let remote = [config, json]
    static let wait = Option(
        name: "--wait",
        value: "S",
        help: "seconds to wait until every worker has applied it, 0 to 60; 5 when not given"
    )
    /// What every verb that takes something away takes: it ends with 1 where that is not confirmed in time.
    static let changing = [wait] + remote
}
