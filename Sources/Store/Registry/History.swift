// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// Something that happened to an app or organization, to be written into its history with the change itself.
package struct HistoryEvent: Sendable, Equatable {
    /// The event's name, such as `development_mode_enabled`.
    package var name: String
    /// The event's own members, in order, such as `hours` and `until`.
    package var details: JSONObject

    package init(_ name: String, _ details: [(name: String, value: JSONValue)] = []) {
        self.name = name
        self.details = JSONObject()
        for detail in details { self.details.set(detail.name, detail.value) }
    }
}

extension HistoryEvent {
    /// Events as the scripts take them: `[[name, details as text], …]`.
    static func write(_ events: [HistoryEvent], to json: inout JSONWriter) {
        json.beginArray()
        for event in events {
            json.beginArray()
            json.value(event.name)
            var details = JSONWriter()
            details.value(.object(event.details))
            json.value(details.text)
            json.endArray()
        }
        json.endArray()
    }
}

/// One row of a history.
package struct HistoryRow: Sendable, Equatable {
    /// Milliseconds since 1970, by the store's clock.
    package var at: Int64
    /// Who made the change.
    package var by: String
    package var event: HistoryEvent

    /// Reads a stream entry: id, then names and values in turn.
    init(entry: RedisReply) throws(StoreError) {
        guard let parts = entry.elements, parts.count == 2, let id = parts[0].text,
            let fields = parts[1].elements?.compactMap(\.text),
            let at = Int64(id.prefix { $0 != "-" })
        else { throw .malformed("a history row") }
        var values: [String: String] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) { values[fields[index]] = fields[index + 1] }
        guard let name = values["event"], let by = values["by"], let text = values["details"] else {
            throw .malformed("a history row")
        }
        self.at = at
        self.by = by
        event = HistoryEvent(name)
        do {
            event.details = try JSONValue(parsing: text).object ?? JSONObject()
        } catch {
            throw .malformed("the details of a history row")
        }
    }
}
