// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A verb with what was written for it.
struct Invocation: Sendable {
    let command: Command
    let operands: [String]
    /// Values by option name, in the order written; a switch has one empty value.
    let values: [String: [String]]
    let environment: [String: String]

    /// The value of an option, or nil.
    subscript(_ option: String) -> String? { values[option]?.last }

    /// All values of an option that may be repeated.
    func all(_ option: String) -> [String] { values[option] ?? [] }

    /// Whether a switch was given.
    func has(_ option: String) -> Bool { values[option] != nil }

    var wantsJSON: Bool { has("--json") }

    /// The app that an option, the environment or the folder names.
    var appAtHand: String? {
        if let named = self["--app"] ?? environment["SALLYPORT_APP"], !named.isBlank { return named }
        return ProjectFile.app()
    }

    /// The app the verb is about.
    func app() throws(CommandFailure) -> String {
        if let named = appAtHand { return named }
        throw .usage(
            "which app? give --app APP, set SALLYPORT_APP or name it in \(ProjectFile.name)",
            seeHelpOf: command.name
        )
    }

    /// A whole number within `range`.
    func integer(_ option: String, in range: ClosedRange<Int>) throws(CommandFailure) -> Int? {
        guard let text = self[option] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            let bounds = "\(range.lowerBound) to \(range.upperBound)"
            throw .usage("\(option) takes a whole number from \(bounds), not \"\(text)\"", seeHelpOf: command.name)
        }
        return number
    }

    /// A number of seconds within `range`, as it was written.
    func seconds(_ option: String, in range: ClosedRange<Double>) throws(CommandFailure) -> String? {
        guard let text = self[option] else { return nil }
        guard let number = Double(text), range.contains(number) else {
            let bounds = "\(Int(range.lowerBound)) to \(Int(range.upperBound))"
            throw .usage("\(option) takes seconds from \(bounds), not \"\(text)\"", seeHelpOf: command.name)
        }
        return text
    }
}
