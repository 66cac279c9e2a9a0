// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why bytes are not the CBOR they should be.
package enum CBORError: Error, Equatable {
    /// The bytes end inside an item, or an item claims more than there is.
    case unexpectedEnd
    /// An indefinite length, a reserved value or a break.
    case indefiniteLength
    /// A number or length written longer than it needs to be.
    case nonMinimal
    /// A tag, a float or a simple value that no proof uses.
    case unsupported
    /// One key twice in a map.
    case duplicateKey
    /// Text that is not UTF-8.
    case illegalText
    /// Bytes after the item.
    case trailingBytes
    /// Nested deeper than `CBORReader.maximumDepth`.
    case tooDeep
    /// More than `CBORReader.maximumItems` items.
    case tooManyItems
}

/// The part of CBOR (RFC 8949) that WebAuthn-like proofs use.
package indirect enum CBORValue: Equatable, Sendable {
    /// A key and its value.
    package struct Entry: Equatable, Sendable {
        /// The key.
        package let key: CBORValue
        /// The value.
        package let value: CBORValue

        /// An entry of a map.
        package init(_ key: CBORValue, _ value: CBORValue) {
            self.key = key
            self.value = value
        }
    }

    /// Major type 0.
    case unsigned(UInt64)
    /// Major type 1: the number is -1 minus the argument.
    case negative(UInt64)
    /// Major type 2.
    case bytes([UInt8])
    /// Major type 3.
    case text(String)
    /// Major type 4.
    case array([CBORValue])
    /// Major type 5, in the order written.
    case map([Entry])
    /// `true` or `false`.
    case bool(Bool)
    /// `null`.
    case null

    /// The whole number `value`.
    package static func integer(_ value: Int) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(bitPattern: Int64(-1 - value)))
    }

    /// The bytes, if this is a byte string.
    package var bytes: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    /// The text, if this is one.
    package var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    /// The elements, if this is an array.
    package var array: [CBORValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The entries, if this is a map.
    package var map: [Entry]? {
        guard case .map(let entries) = self else { return nil }
        return entries
    }

    /// The value of a text key, if this is a map that has it.
    package subscript(key: String) -> CBORValue? {
        map?.first { $0.key == .text(key) }?.value
    }
}

extension CBORValue {
    /// The item in its shortest definite form, map entries in the order they stand in.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return bytes
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.writeHead(0, value, into: &bytes)
        case .negative(let value): Self.writeHead(1, value, into: &bytes)
        case .bytes(let content):
            Self.writeHead(2, UInt64(content.count), into: &bytes)
            bytes += content
        case .text(let text):
            Self.writeHead(3, UInt64(text.utf8.count), into: &bytes)
            bytes += Array(text.utf8)
        case .array(let elements):
            Self.writeHead(4, UInt64(elements.count), into: &bytes)
            for element in elements { element.write(into: &bytes) }
        case .map(let entries):
            Self.writeHead(5, UInt64(entries.count), into: &bytes)
            for entry in entries {
                entry.key.write(into: &bytes)
                entry.value.write(into: &bytes)
            }
        case .bool(let truth): bytes.append(truth ? 0xF5 : 0xF4)
        case .null: bytes.append(0xF6)
        }
    }

    private static func writeHead(_ major: UInt8, _ value: UInt64, into bytes: inout [UInt8]) {
        let width: Int
        switch value {
        case 0..<24: return bytes.append(major << 5 | UInt8(value))
        case 24..<0x100: width = 0
        case 0x100..<0x1_0000: width = 1
        case 0x1_0000..<0x1_0000_0000: width = 2
        default: width = 3
        }
        bytes.append(major << 5 | UInt8(24 + width))
        for place in (0..<(1 << width)).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(place * 8)))
        }
    }
}
