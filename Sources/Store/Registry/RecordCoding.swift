// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import FoundationEssentials

/// Records to JSON and back, strictly: a member that this version does not know makes the record broken.
///
/// A newer gateway may have written a restriction that an older one would otherwise not enforce.
enum RecordCoding {
    static func encode<Record: Encodable>(_ record: Record) throws(RegistryError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(record), as: UTF8.self)
        } catch {
            throw .broken(reason: "the record cannot be written as JSON")
        }
    }

    static func decode<Record: Codable>(_ type: Record.Type, from bytes: [UInt8]) throws(RegistryError) -> Record {
        let record: Record
        do {
            record = try JSONDecoder().decode(type, from: Data(bytes))
        } catch let problem as DecodingError {
            throw .broken(reason: reason(for: problem))
        } catch {
            throw .broken(reason: "not JSON")
        }
        guard try isCovered(bytes, by: [UInt8](encode(record).utf8)) else {
            throw .broken(reason: "a member that this version does not know")
        }
        return record
    }

    /// Whether everything in `stored` was understood, that is, comes back when the record is written again.
    private static func isCovered(_ stored: [UInt8], by written: [UInt8]) throws(RegistryError) -> Bool {
        do {
            let stored = try JSONValue(parsing: stored, limits: .document)
            return isContained(stored, in: try JSONValue(parsing: written, limits: .document))
        } catch {
            throw .broken(reason: "not strict JSON")
        }
    }

    private static func isContained(_ part: JSONValue, in whole: JSONValue) -> Bool {
        if let members = part.object?.members {
            return members.allSatisfy { member in
                if member.value == .null { return true }
                guard let other = whole[member.name] else { return false }
                return isContained(member.value, in: other)
            }
        }
        guard let elements = part.array else { return part == whole }
        guard let others = whole.array, elements.count == others.count else { return false }
        return zip(elements, others).allSatisfy { isContained($0, in: $1) }
    }

    /// The place and kind of the problem, never a value: records hold hashes of secrets.
    private static func reason(for problem: DecodingError) -> String {
        switch problem {
        case .keyNotFound(let key, _): "no member \(key.stringValue)"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "the wrong type at \(path(context))"
        case .dataCorrupted(let context): "a bad value at \(path(context))"
        @unknown default: "does not decode"
        }
    }

    private static func path(_ context: DecodingError.Context) -> String {
        context.codingPath.map(\.stringValue).joined(separator: ".")
    }
}
