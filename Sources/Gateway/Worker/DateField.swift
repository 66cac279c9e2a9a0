// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// The `Date` of our own answers, written once a second.
@Reactor
final class DateField {
    private var second: Int64 = .min
    private var text: [UInt8] = []

    /// The IMF-fixdate of now (RFC 9110 5.6.7).
    func bytes(at milliseconds: Int64) -> [UInt8] {
        let now = milliseconds / 1000
        if now != second {
            second = now
            var buffer = ByteBuffer(capacity: 32)
            HTTPDate.append(unixSeconds: now, to: &buffer)
            let bytes = buffer.bytes
            text = bytes.indices.map { bytes[$0] }
        }
        return text
    }
}
