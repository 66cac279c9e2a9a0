// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers
import Encodings

/// Writes a chunked body.
package enum ChunkedEncoder {
    /// Appends the line that announces a chunk of `size` bytes; `size` must not be 0.
    @inline(__always)
    package static func appendSize(_ size: Int, to buffer: inout ByteBuffer) {
        precondition(size > 0, "a chunk of no bytes would end the body")
        var shift = (UInt64.bitWidth - 1 - UInt64(size).leadingZeroBitCount) / 4 * 4
        while shift >= 0 {
            buffer.append(Hex.digit(of: UInt8(truncatingIfNeeded: size &>> shift) & 15))
            shift -= 4
        }
        buffer.append("\r\n")
    }

    /// Appends `data` as one chunk; nothing for no bytes.
    package static func append(_ data: Span<UInt8>, to buffer: inout ByteBuffer) {
        guard data.count > 0 else { return }
        appendSize(data.count, to: &buffer)
        buffer.append(data)
        buffer.append("\r\n")
    }

    /// Appends the end of a body with the trailers that may be forwarded.
    package static func appendEnd(
        trailers: borrowing FieldTable,
        skipping skipped: KnownFieldSet,
        to buffer: inout ByteBuffer
    ) {
        buffer.append("0\r\n")
        trailers.append(to: &buffer, skipping: skipped)
        buffer.append("\r\n")
    }
}
