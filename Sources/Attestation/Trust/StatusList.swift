// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings

/// Google's list of attestation certificates that no longer count, by serial number.
package struct StatusList: Sendable {
    /// What the list says about one serial number.
    package enum Status: String, Sendable {
        /// Withdrawn for good.
        case revoked = "REVOKED"
        /// Withdrawn for a while.
        case suspended = "SUSPENDED"
        /// A word that we do not know; it counts like the others, because it is no word of trust.
        case unknown
    }

    /// Why a text is no status list.
    package enum ParseError: Error, Equatable {
        /// Not JSON.
        case notJSON(JSONError)
        /// JSON of another shape, at this entry.
        case wrongShape(String)
    }

    private let statuses: [String: Status]

    /// A list that names nothing.
    package static let empty = StatusList(statuses: [:])

    private init(statuses: [String: Status]) {
        self.statuses = statuses
    }

    /// The list of a JSON text in Google's format.
    package init(parsing bytes: [UInt8]) throws(ParseError) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes, limits: .document)
        } catch {
            throw .notJSON(error)
        }
        try self.init(document)
    }

    /// The list of a JSON value in Google's format.
    package init(_ document: JSONValue) throws(ParseError) {
        guard let entries = document["entries"]?.object else { throw .wrongShape("entries") }
        var statuses: [String: Status] = [:]
        for entry in entries.members {
            guard let word = entry.value["status"]?.string else { throw .wrongShape(entry.name) }
            // A key that is no number can match none; the list's other entries still count.
            guard let serial = Self.normalized(entry.name) else { continue }
            statuses[serial] = Status(rawValue: word) ?? .unknown
        }
        self.init(statuses: statuses)
    }

    /// How many serial numbers the list names.
    package var count: Int {
        statuses.count
    }

    /// What the list says about a serial number in lower-case hexadecimal without leading zeros.
    package func status(ofSerial serial: String) -> Status? {
        statuses[serial]
    }

    /// Keys are hexadecimal, also when every digit happens to be a decimal one.
    private static func normalized(_ key: String) -> String? {
        let digits = key.lowercased().drop { $0 == "0" }
        guard !key.isEmpty, key.utf8.count <= 64, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        return digits.isEmpty ? "0" : String(digits)
    }
}
