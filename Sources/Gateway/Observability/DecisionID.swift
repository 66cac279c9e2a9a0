// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// The name of one judged request, ours alone: in the answer, to the upstream, in the log and in the decision ring.
///
/// Text: 8 hexadecimal digits that differ from process start to process start, and 10 that count, never reused.
package struct DecisionID: Hashable, Sendable {
    package let process: UInt32
    package let number: UInt64

    package init(process: UInt32, number: UInt64) {
        self.process = process
        self.number = number
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
        var text = InlineArray<18, UInt8>(repeating: 0)
        Self.write(UInt64(process), to: &text, from: 0, digits: 8)
        Self.write(number, to: &text, from: 8, digits: 10)
        buffer.append(text.span)
    }

    @inline(__always)
    private static func write(_ value: UInt64, to text: inout InlineArray<18, UInt8>, from start: Int, digits: Int) {
        var rest = value
        var index = start + digits
        while index > start {
            index -= 1
            let digit = UInt8(truncatingIfNeeded: rest) & 15
            text[index] = digit < 10 ? 0x30 &+ digit : 0x57 &+ digit
            rest >>= 4
        }
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
