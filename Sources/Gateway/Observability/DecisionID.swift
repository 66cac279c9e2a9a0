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
        Self.append(UInt64(process), digits: 8, to: &buffer)
        Self.append(number, digits: 10, to: &buffer)
    }

    private static func append(_ value: UInt64, digits: Int, to buffer: inout ByteBuffer) {
        var shift = digits * 4
        while shift > 0 {
            shift -= 4
            let digit = UInt8(truncatingIfNeeded: value >> UInt64(shift)) & 15
            buffer.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
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
