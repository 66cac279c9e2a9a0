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

extension FieldTable {
    /// Appends the field lines with names in title case, as `append(to:skipping:)` does with those received.
    ///
    /// For what came by HTTP/2, whose names are all lower case, and goes on to an old peer that compares them by letter
    /// (B56).
    fileprivate func appendInTitleCase(to buffer: inout ByteBuffer, skipping skipped: KnownFieldSet) {
        for index in 0..<count {
            let known = field(at: index)
            if isDropped(at: index) || skipped.contains(known) { continue }
            if known.canonicalName.utf8CodeUnitCount > 0 {
                buffer.append(known.canonicalName)
            } else {
                appendTitle(name(at: index), to: &buffer)
            }
            buffer.append(": ")
            buffer.append(value(at: index))
            buffer.append("\r\n")
        }
    }

    private func appendTitle(_ name: Span<UInt8>, to buffer: inout ByteBuffer) {
        var beginsWord = true
        for index in name.indices {
            let byte = name[index]
            buffer.append(beginsWord && byte &- 0x61 < 26 ? byte & 0xdf : byte)
            beginsWord = byte == 0x2d
        }
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
        append(head.fields, from: head.version, skipping: skipped.union([.host]), to: &buffer)
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
        append(head.fields, from: head.version, skipping: skipped, to: &buffer)
    }

    /// In the sender's case, which HTTP/2 has none of.
    private static func append(
        _ fields: borrowing FieldTable,
        from version: HTTPVersion,
        skipping skipped: KnownFieldSet,
        to buffer: inout ByteBuffer
    ) {
        if version == .http2 {
            fields.appendInTitleCase(to: &buffer, skipping: skipped)
        } else {
            fields.append(to: &buffer, skipping: skipped)
        }
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
