// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads CBOR items strictly: definite lengths, shortest forms, no key twice, bounded depth and count.
package struct CBORReader {
    /// Deeper than any proof nests.
    package static let maximumDepth = 8
    /// More items than any proof holds.
    private static let maximumItems = 1_024

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
