// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

extension FieldTable {
    /// Appends the field lines as they came, without dropped fields and those in `skipped`; no empty line after them.
    package func append(to buffer: inout ByteBuffer, skipping skipped: KnownFieldSet) {
        let bytes = storage.bytes
        var run = ByteRange()
        for index in 0..<count {
            let slot = slots[index]
            if slot.isDropped || skipped.contains(slot.known) { continue }
            // Neighbouring lines leave in one copy.
            if slot.start == run.end {
                run.end = slot.end
            } else {
                if !run.isEmpty { buffer.append(bytes[run]) }
                run = ByteRange(slot.start, slot.end)
            }
        }
        if !run.isEmpty { buffer.append(bytes[run]) }
    }
}

/// Writes heads and single fields; the caller ends a head with `endHead`.
package enum HeadWriter {
    /// Appends the request line, `Host` and the fields not skipped; `target` and `host` replace the head's own.
    ///
    /// `Host` is written from what the request was judged by, so an absolute-form target and its `Host` cannot differ.
    package static func appendRequest(
        _ head: borrowing RequestHead,
        target: Span<UInt8>,
        host: Span<UInt8>,
        skipping skipped: KnownFieldSet,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(head.methodBytes)
        buffer.append(0x20)
        buffer.append(target)
        buffer.append(" HTTP/1.1\r\nHost: ")
        buffer.append(host)
        buffer.append("\r\n")
        head.fields.append(to: &buffer, skipping: skipped.union([.host]))
    }

    /// Appends the status line and the fields not skipped.
    package static func appendResponse(
        _ head: borrowing ResponseHead,
        skipping skipped: KnownFieldSet,
        to buffer: inout ByteBuffer
    ) {
        buffer.append("HTTP/1.1 ")
        buffer.append(decimal: head.status)
        buffer.append(0x20)
        if head.version == .http2 {
            buffer.append(StatusReason.phrase(for: head.status))
        } else {
            buffer.append(head.reason)
        }
        buffer.append("\r\n")
        head.fields.append(to: &buffer, skipping: skipped)
    }

    /// Appends the status line of an answer of our own.
    package static func appendStatusLine(_ status: Int, to buffer: inout ByteBuffer) {
        buffer.append("HTTP/1.1 ")
        buffer.append(decimal: status)
        buffer.append(0x20)
        buffer.append(StatusReason.phrase(for: status))
        buffer.append("\r\n")
    }

    /// Appends one field; `value` must hold no CR, LF or NUL, else nothing is written and the answer is false.
    @discardableResult
    package static func appendField(
        _ name: StaticString,
        _ value: Span<UInt8>,
        to buffer: inout ByteBuffer
    ) -> Bool {
        for index in value.indices where value[index] < 0x20 && value[index] != 0x09 || value[index] == 0x7f {
            return false
        }
        buffer.append(name)
        buffer.append(": ")
        buffer.append(value)
        buffer.append("\r\n")
        return true
    }

    /// Appends one field with a number.
    package static func appendField(_ name: StaticString, _ value: Int, to buffer: inout ByteBuffer) {
        buffer.append(name)
        buffer.append(": ")
        buffer.append(decimal: value)
        buffer.append("\r\n")
    }

    /// Appends the empty line.
    package static func endHead(_ buffer: inout ByteBuffer) {
        buffer.append("\r\n")
    }
}
