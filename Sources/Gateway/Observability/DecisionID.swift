// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// The name of one judged request, ours alone: in the answer, to the upstream, in the log and in the decision ring.
///
/// Text: 8 hexadecimal digits that differ from process start to process start, and 10 that count, never reused.
///
/// Held as its text, because that is all it is ever used as, three times a request.
package struct DecisionID: Hashable, Sendable {
    private let first: UInt64
    private let middle: UInt16
    private let last: UInt64

    /// Stands for a request that has none yet.
    static let none = DecisionID(process: 0, number: 0)

    package init(process: UInt32, number: UInt64) {
        first = Self.digits(process)
        middle = UInt16(truncatingIfNeeded: Self.digits(UInt32(truncatingIfNeeded: number >> 32)) >> 48)
        last = Self.digits(UInt32(truncatingIfNeeded: number))
    }

    /// The text form; off the hot path.
    package var text: String {
        var buffer = ByteBuffer(capacity: 18)
        append(to: &buffer)
        var text = ""
        let bytes = buffer.bytes
        for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        return text
    }

    /// Appends the 18 bytes of the text form.
    package func append(to buffer: inout ByteBuffer) {
        buffer.append(word: first)
        buffer.append(UInt8(truncatingIfNeeded: middle))
        buffer.append(UInt8(truncatingIfNeeded: middle >> 8))
        buffer.append(word: last)
    }

    /// The eight hexadecimal digits of `value`, the first in the lowest byte: all eight at once.
    @inline(__always)
    private static func digits(_ value: UInt32) -> UInt64 {
        var word = UInt64(value.byteSwapped)
        word = (word | word << 16) & 0x0000_ffff_0000_ffff
        word = (word | word << 8) & 0x00ff_00ff_00ff_00ff
        // The first digit of a byte is its upper half and leaves first.
        word = (word >> 4 | word << 8) & 0x0f0f_0f0f_0f0f_0f0f
        let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }
}

/// Makes the decision ids of one process.
package struct DecisionSequence: ~Copyable {
    private let process: UInt32
    private var number: UInt64 = 0

    /// A sequence whose ids begin with `process`, which is random for each start of a process.
    package init(process: UInt32) {
        self.process = process
    }

    /// The next id.
    package mutating func next() -> DecisionID {
        number &+= 1
        return DecisionID(process: process, number: number)
    }
}
