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

/// Reads CBOR items strictly: definite lengths, shortest forms, no key twice, bounded depth and count.
package struct CBORReader {
    /// Deeper than any proof nests.
    package static let maximumDepth = 8
    /// More items than any proof holds.
    package static let maximumItems = 1_024

    private let bytes: [UInt8]
    private let end: Int
    private var items = 0
    /// The offset of the next unread byte.
    package private(set) var position: Int

    /// A reader of `bytes` from `position` up to `end`.
    package init(_ bytes: [UInt8], from position: Int = 0) {
        self.bytes = bytes
        self.position = min(max(position, 0), bytes.count)
        end = bytes.count
    }

    /// The one item that `bytes` are.
    package static func value(of bytes: [UInt8]) throws(CBORError) -> CBORValue {
        var reader = CBORReader(bytes)
        let value = try reader.next()
        guard reader.isAtEnd else { throw .trailingBytes }
        return value
    }

    /// Whether every byte has been read.
    package var isAtEnd: Bool {
        position == end
    }

    /// The next item.
    package mutating func next() throws(CBORError) -> CBORValue {
        try item(depth: 0)
    }

    private mutating func item(depth: Int) throws(CBORError) -> CBORValue {
        guard depth < Self.maximumDepth else { throw .tooDeep }
        items += 1
        guard items <= Self.maximumItems else { throw .tooManyItems }
        let initial = try byte()
        if initial >> 5 == 7 { return try simple(initial & 31) }
        let argument = try argument(initial & 31)
        switch initial >> 5 {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(Array(try take(argument)))
        case 3:
            guard let text = String(validating: try take(argument), as: UTF8.self) else { throw .illegalText }
            return .text(text)
        case 4: return .array(try elements(argument, depth: depth))
        case 5: return .map(try entries(argument, depth: depth))
        default: throw .unsupported
        }
    }

    private mutating func elements(_ claimed: UInt64, depth: Int) throws(CBORError) -> [CBORValue] {
        var elements: [CBORValue] = []
        for _ in 0..<(try count(claimed, bytesEach: 1)) {
            elements.append(try item(depth: depth + 1))
        }
        return elements
    }

    private mutating func entries(_ claimed: UInt64, depth: Int) throws(CBORError) -> [CBORValue.Entry] {
        var entries: [CBORValue.Entry] = []
        for _ in 0..<(try count(claimed, bytesEach: 2)) {
            let key = try item(depth: depth + 1)
            guard !entries.contains(where: { $0.key == key }) else { throw .duplicateKey }
            entries.append(CBORValue.Entry(key, try item(depth: depth + 1)))
        }
        return entries
    }

    /// A claimed count is believed only if that many items could still stand in what is left.
    private func count(_ claimed: UInt64, bytesEach: Int) throws(CBORError) -> Int {
        guard claimed <= UInt64((end - position) / bytesEach) else { throw .unexpectedEnd }
        guard claimed <= UInt64(Self.maximumItems) else { throw .tooManyItems }
        return Int(claimed)
    }

    private mutating func simple(_ value: UInt8) throws(CBORError) -> CBORValue {
        switch value {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        case 31: throw .indefiniteLength
        default: throw .unsupported
        }
    }

    private mutating func argument(_ low: UInt8) throws(CBORError) -> UInt64 {
        switch low {
        case 0..<24: return UInt64(low)
        case 24...27:
            let width = 1 << Int(low - 24)
            var value: UInt64 = 0
            for _ in 0..<width { value = value << 8 | UInt64(try byte()) }
            let smallest: UInt64 = width == 1 ? 24 : 1 << UInt64(width * 4)
            guard value >= smallest else { throw .nonMinimal }
            return value
        default: throw .indefiniteLength
        }
    }

    private mutating func take(_ length: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard length <= UInt64(end - position) else { throw .unexpectedEnd }
        let start = position
        position += Int(length)
        return bytes[start..<position]
    }

    private mutating func byte() throws(CBORError) -> UInt8 {
        guard position < end else { throw .unexpectedEnd }
        position += 1
        return bytes[position - 1]
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
