// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A JSON value as read from bytes: nothing lost, nothing converted.
package indirect enum JSONValue: Equatable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number as it was written.
    case number(JSONNumber)
    /// A string with its escapes resolved.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object, its members in the order they were written.
    case object(JSONObject)

    /// The text, if this is a string.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The whole number, if this is one written without fraction or exponent that fits.
    package var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return number.integer
    }

    /// The truth value, if this is one.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, if this is an array.
    package var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members, if this is an object.
    package var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// The member `name`, if this is an object that has it.
    package subscript(name: String) -> JSONValue? {
        object?[name]
    }
}

/// A number kept as its digits, so that no precision is lost between reading and judging.
package struct JSONNumber: Equatable, Sendable {
    /// The number as written.
    package let text: String

    /// A number of these digits; the reader has checked the grammar.
    init(unchecked text: String) {
        self.text = text
    }

    /// The decimal form of `value`.
    package init(_ value: Int) {
        text = String(value)
    }

    /// The value, if it has no fraction and no exponent and fits.
    package var integer: Int? {
        Int(text)
    }

    /// The nearest double, for values that are measurements.
    package var double: Double? {
        Double(text)
    }
}

/// The members of a JSON object: names are unique, compared byte by byte, kept in order.
package struct JSONObject: Equatable, Sendable {
    /// One name and its value.
    package struct Member: Equatable, Sendable {
        /// The member's name.
        package let name: String
        /// The member's value.
        package let value: JSONValue
    }

    /// The members in the order they were written.
    package private(set) var members: [Member] = []

    /// An object without members.
    package init() {}

    /// The value of `name`.
    package subscript(name: String) -> JSONValue? {
        members.first { $0.name.hasSameBytes(as: name) }?.value
    }

    /// Adds a member; the reader has made sure that the name is new.
    mutating func append(_ name: String, _ value: JSONValue) {
        members.append(Member(name: name, value: value))
    }

    /// Sets `name`, in its old place if it was there.
    package mutating func set(_ name: String, _ value: JSONValue) {
        let member = Member(name: name, value: value)
        if let place = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
            members[place] = member
        } else {
            members.append(member)
        }
    }
}

extension String {
    /// Whether both are the same UTF-8: `==` on strings takes canonically equivalent texts for equal.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}
