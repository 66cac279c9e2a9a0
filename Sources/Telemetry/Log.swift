// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

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
            var line = JSONWriter()
            line.beginObject()
            line.member("ts", time.text)
            line.member("level", level.rawValue)
            line.member("role", role)
            line.member("message", message)
            for (name, value) in fields { line.member(name, value) }
            line.endObject()
            return line.text + "\n"
        }
    }

    private static func quotedWhereNeeded(_ value: String) -> String {
        let isPlain = !value.isEmpty && value.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
        if isPlain { return value }
        var quoted = JSONWriter()
        quoted.value(value)
        return quoted.text
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - utf8.count))
    }
}
