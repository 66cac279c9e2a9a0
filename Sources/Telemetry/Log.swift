// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Lines about the life of the process, on standard error: start, reload, a child that died.
///
/// Never about one request.
package struct Log: Sendable {
    /// How lines look.
    package enum Format: String, Sendable, CaseIterable {
        case text, json
    }

    /// How urgent a line is: info is lifecycle, warning may become trouble, error means that someone must act.
    package enum Level: String, Sendable, Comparable, CaseIterable {
        case info, warning, error

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .info: 0
            case .warning: 1
            case .error: 2
            }
        }
    }

    package var format: Format
    /// Which process speaks: `supervisor`, `worker 0`, `control`.
    package var role: String
    /// Less urgent lines are not written.
    package var minimum: Level

    package init(format: Format = .text, role: String, minimum: Level = .info) {
        self.format = format
        self.role = role
        self.minimum = minimum
    }

    package func info(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.info, message, fields)
    }

    package func warning(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.warning, message, fields)
    }

    package func error(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        write(.error, message, fields)
    }

    private func write(_ level: Level, _ message: String, _ fields: KeyValuePairs<String, String>) {
        guard level >= minimum else { return }
        // One write keeps lines of several processes whole; a full pipe loses the line rather than stop the loop.
        StandardError.write(Array(render(level, message, fields, at: Timestamp.now()).utf8))
    }

    package func render(
        _ level: Level,
        _ message: String,
        _ fields: KeyValuePairs<String, String>,
        at time: Timestamp
    ) -> String {
        switch format {
        case .text:
            var line = "\(time.text) \(level.rawValue.padded(7)) \(role): \(message)"
            for (name, value) in fields { line += " \(name)=\(Self.quotedWhereNeeded(value))" }
            return line + "\n"
        case .json:
            var line = "{\"ts\":\"\(time.text)\",\"level\":\"\(level.rawValue)\",\"role\":\"\(role.jsonEscaped)\""
            line += ",\"message\":\"\(message.jsonEscaped)\""
            for (name, value) in fields { line += ",\"\(name.jsonEscaped)\":\"\(value.jsonEscaped)\"" }
            return line + "}\n"
        }
    }

    private static func quotedWhereNeeded(_ value: String) -> String {
        let isPlain = !value.isEmpty && value.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
        return isPlain ? value : "\"\(value.jsonEscaped)\""
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - utf8.count))
    }

    /// The text as it stands between quotes in JSON.
    package var jsonEscaped: String {
        var escaped = ""
        escaped.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case _ where scalar.value < 0x20:
                escaped += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
