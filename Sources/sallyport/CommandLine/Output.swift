// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Gateway

/// What a verb prints: the gateway's JSON as it came, or lines for people.
enum Output {
    /// Prints `answer` as JSON when asked to, else what `lines` makes of it.
    static func show(_ answer: JSONValue, for invocation: Invocation, _ lines: (JSONValue) -> String) {
        Terminal.print(invocation.wantsJSON ? json(answer) : lines(answer))
    }

    /// What the help of a list says of its end.
    static let listNotes = "A record that cannot be read or used is named on standard error, and the verb ends with 1."

    /// Prints a list; where something of it cannot be read or used it says so too, and that is a failure (exit 1).
    static func showList(
        _ answer: JSONValue,
        for invocation: Invocation,
        _ lines: (JSONValue) -> String
    ) throws(CommandFailure) {
        show(answer, for: invocation, lines)
        let problems = answer.items("problems")
        guard !problems.isEmpty else { return }
        for problem in problems { Terminal.complain("sallyport: \(problem.text("what")): \(problem.text("reason"))\n") }
        Terminal.complain("  the list is not whole; an app whose record cannot be used is refused until it is mended\n")
        throw CommandFailure.told
    }

    /// Prints why a verb failed: on standard output as one object with `--json`, else on standard error.
    static func show(_ failure: CommandFailure, asJSON: Bool) {
        guard asJSON else { return Terminal.complain(text(failure)) }
        Terminal.print(
            json(
                .members([
                    ("error", .string(failure.code)),
                    ("message", .string(failure.message)),
                    ("details", .array(failure.details.map(JSONValue.string))),
                    ("next_steps", .array(failure.nextSteps.map(JSONValue.string))),
                ])
            )
        )
    }

    static func text(_ failure: CommandFailure) -> String {
        var text = "sallyport: \(visible(failure.message))\n"
        for detail in failure.details { text += "  \(visible(detail))\n" }
        for step in failure.nextSteps { text += "  try: \(visible(step))\n" }
        return text
    }

    /// A text with what is not seen written out: a name that somebody else chose makes no lines, steers no terminal and
    /// turns no direction.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.isUnseen) else { return text }
        return text.unicodeScalars.map { scalar in
            scalar.isUnseen
                ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }.joined()
    }

    static func json(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        return writer.text + "\n"
    }

    /// Rows under headings, each column as wide as its widest cell; `empty` when there are no rows.
    static func table(_ headings: [String], _ rows: [[String]], empty: String) -> String {
        guard !rows.isEmpty else { return empty + "\n" }
        var widths = headings.map(\.count)
        for row in rows {
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.count) }
        }
        return ([headings] + rows).map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let isLast = column == row.count - 1
                line += cell + (isLast ? "" : String(repeating: " ", count: widths[column] - cell.count + 2))
            }
            return line + "\n"
        }.joined()
    }
}

extension JSONValue {
    /// An object of these members, in this order.
    static func members(_ members: [(String, JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object.set(name, value) }
        return .object(object)
    }

    /// The text of a member, or a dash.
    func text(_ name: String) -> String {
        switch self[name] {
        case .string(let text)?: text.isEmpty ? "-" : Output.visible(text)
        case .number(let number)?: number.text
        case .bool(let truth)?: truth ? "yes" : "no"
        default: "-"
        }
    }

    /// The texts of a member that is an array.
    func texts(_ name: String) -> [String] {
        (self[name]?.array ?? []).compactMap(\.string).map(Output.visible)
    }

    /// The elements of a member that is an array.
    func items(_ name: String) -> [JSONValue] {
        self[name]?.array ?? []
    }
}
