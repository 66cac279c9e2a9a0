// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Writes JSON into bytes, member by member; commas and escapes are its business.
package struct JSONWriter: Sendable {
    /// What has been written.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// A writer with room for `capacity` bytes.
    package init(capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
    }

    /// What has been written, as text.
    package var text: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Opens an object.
    package mutating func beginObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    /// Closes an object.
    package mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Opens an array.
    package mutating func beginArray() {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
    }

    /// Closes an array.
    package mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Writes a member's name; its value comes next.
    package mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string.
    package mutating func value(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    /// Writes a whole number.
    package mutating func value(_ number: Int) {
        raw(String(number))
    }

    /// Writes a truth value.
    package mutating func value(_ truth: Bool) {
        raw(truth ? "true" : "false")
    }

    /// Writes `null`.
    package mutating func null() {
        raw("null")
    }

    /// Writes a value that was read or built.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let truth): self.value(truth)
        case .number(let number): raw(number.text)
        case .string(let text): self.value(text)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let object):
            beginObject()
            for member in object.members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    /// Writes a member with a string, or nothing if there is none.
    package mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        self.name(name)
        value(text)
    }

    /// Writes a member with a whole number, or nothing if there is none.
    package mutating func member(_ name: String, _ number: Int?) {
        guard let number else { return }
        self.name(name)
        value(number)
    }

    /// Writes a member with a truth value, or nothing if there is none.
    package mutating func member(_ name: String, _ truth: Bool?) {
        guard let truth else { return }
        self.name(name)
        value(truth)
    }

    /// Writes a member with an array of strings.
    package mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { value(text) }
        endArray()
    }

    private mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case UInt8(ascii: "\\"): bytes.append(contentsOf: [byte, byte])
            case 10: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0..<32, 127: escape(byte)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(contentsOf: Array("\\u00".utf8))
        bytes.append(Hex.digit(of: byte >> 4))
        bytes.append(Hex.digit(of: byte & 15))
    }
}
