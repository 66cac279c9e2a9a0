// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why bytes are not the DER they should be.
package enum DERError: Error, Equatable {
    /// The bytes end inside an element, or it claims more than there is.
    case unexpectedEnd
    /// A length in indefinite, over-long or non-minimal form.
    case illegalLength
    /// A tag in non-minimal form or above what any format here uses.
    case illegalTag
    /// Another element than the format has in this place.
    case unexpectedElement
    /// Bytes after the last element.
    case trailingBytes
    /// A value that its type does not allow.
    case illegalValue
}

/// The identifier of an element: class, form and number.
package struct DERTag: Hashable, Sendable {
    /// Bits 8 and 7 of the identifier: 0 universal, 1 application, 2 context-specific, 3 private.
    package let tagClass: UInt8
    /// Whether the contents are elements.
    package let isConstructed: Bool
    /// The tag number.
    package let number: Int

    /// A tag of these parts.
    package init(tagClass: UInt8, isConstructed: Bool, number: Int) {
        self.tagClass = tagClass
        self.isConstructed = isConstructed
        self.number = number
    }

    /// `[number]` around another element.
    package static func explicit(_ number: Int) -> DERTag {
        DERTag(tagClass: 2, isConstructed: true, number: number)
    }

    /// `[number]` in place of a primitive element's own tag.
    package static func implicit(_ number: Int) -> DERTag {
        DERTag(tagClass: 2, isConstructed: false, number: number)
    }

    private static func universal(_ number: Int, isConstructed: Bool = false) -> DERTag {
        DERTag(tagClass: 0, isConstructed: isConstructed, number: number)
    }

    /// BOOLEAN.
    package static let boolean = universal(1)
    /// INTEGER.
    package static let integer = universal(2)
    /// BIT STRING.
    package static let bitString = universal(3)
    /// OCTET STRING.
    package static let octetString = universal(4)
    /// OBJECT IDENTIFIER.
    package static let objectIdentifier = universal(6)
    /// ENUMERATED.
    package static let enumerated = universal(10)
    /// UTF8String.
    package static let utf8String = universal(12)
    /// UTCTime.
    package static let utcTime = universal(23)
    /// GeneralizedTime.
    package static let generalizedTime = universal(24)
    /// SEQUENCE and SEQUENCE OF.
    package static let sequence = universal(16, isConstructed: true)
    /// SET and SET OF.
    package static let set = universal(17, isConstructed: true)
}

/// One element: where it stands in the buffer it was read from.
///
/// The buffer is shared, never copied.
package struct DERElement: Sendable {
    /// The buffer that the ranges are of.
    package let buffer: [UInt8]
    /// Identifier, length and contents.
    package let range: Range<Int>
    /// The contents.
    package let contents: Range<Int>
    /// The identifier.
    package let tag: DERTag

    /// A copy of the contents.
    package var bytes: [UInt8] {
        Array(buffer[contents])
    }

    /// A copy of the whole element.
    package var encoded: [UInt8] {
        Array(buffer[range])
    }

    /// A cursor over the contents.
    package var cursor: DERCursor {
        DERCursor(buffer, in: contents)
    }
}

/// Walks over elements one after the other; unknown ones are skipped by their length, never entered.
///
/// It holds the array and a range rather than a span, so that elements can outlive the walk without a copy.
package struct DERCursor: Sendable {
    private let buffer: [UInt8]
    private var position: Int
    private let end: Int

    /// A cursor over all of `buffer`.
    package init(_ buffer: [UInt8]) {
        self.init(buffer, in: 0..<buffer.count)
    }

    /// A cursor over `range` of `buffer`.
    package init(_ buffer: [UInt8], in range: Range<Int>) {
        self.buffer = buffer
        position = range.lowerBound
        end = range.upperBound
    }

    /// The one element that `buffer` is.
    package static func only(_ tag: DERTag, in buffer: [UInt8]) throws(DERError) -> DERElement {
        var cursor = DERCursor(buffer)
        let element = try cursor.read(tag)
        try cursor.finish()
        return element
    }

    /// Whether nothing is left.
    package var isAtEnd: Bool {
        position == end
    }

    /// The next element's tag, or nil at the end.
    package func peek() throws(DERError) -> DERTag? {
        guard !isAtEnd else { return nil }
        var copy = self
        return try copy.readTag()
    }

    /// The next element, whatever it is.
    package mutating func next() throws(DERError) -> DERElement {
        let start = position
        let tag = try readTag()
        let length = try readLength()
        guard length <= end - position else { throw .unexpectedEnd }
        let contents = position..<(position + length)
        position += length
        return DERElement(buffer: buffer, range: start..<position, contents: contents, tag: tag)
    }

    /// The next element, which must be `tag`.
    package mutating func read(_ tag: DERTag) throws(DERError) -> DERElement {
        let element = try next()
        guard element.tag == tag else { throw .unexpectedElement }
        return element
    }

    /// The next element if it is `tag`; nothing is read otherwise.
    package mutating func readIf(_ tag: DERTag) throws(DERError) -> DERElement? {
        guard try peek() == tag else { return nil }
        return try next()
    }

    /// Refuses anything that is left.
    package func finish() throws(DERError) {
        guard isAtEnd else { throw .trailingBytes }
    }

    private mutating func readTag() throws(DERError) -> DERTag {
        let first = try byte()
        var number = Int(first & 31)
        if number == 31 { number = try readHighTagNumber() }
        return DERTag(tagClass: first >> 6, isConstructed: first & 32 != 0, number: number)
    }

    /// X.690 8.1.2.4: base 128, no leading zero, only for numbers that do not fit the first byte.
    ///
    /// Eight groups are 56 bits: more than any format numbers, and always an Int.
    private mutating func readHighTagNumber() throws(DERError) -> Int {
        var number = 0
        for place in 0..<8 {
            let next = try byte()
            guard place > 0 || next != 0x80 else { throw .illegalTag }
            number = number << 7 | Int(next & 127)
            guard next & 128 != 0 else {
                guard number >= 31 else { throw .illegalTag }
                return number
            }
        }
        throw .illegalTag
    }

    /// X.690 10.1: definite, in the fewest bytes.
    private mutating func readLength() throws(DERError) -> Int {
        let first = try byte()
        guard first & 128 != 0 else { return Int(first) }
        let width = Int(first & 127)
        guard (1...4).contains(width) else { throw .illegalLength }
        var length = 0
        for _ in 0..<width { length = length << 8 | Int(try byte()) }
        guard length >= 128, width == 1 || length >> ((width - 1) * 8) != 0 else { throw .illegalLength }
        return length
    }

    private mutating func byte() throws(DERError) -> UInt8 {
        guard position < end else { throw .unexpectedEnd }
        position += 1
        return buffer[position - 1]
    }
}
