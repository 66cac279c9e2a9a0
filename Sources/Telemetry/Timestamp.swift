// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Glibc

/// A moment of the wall clock in milliseconds since 1970, UTC; text is `2026-09-17T11:18:57.042Z`.
package struct Timestamp: Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The system's wall clock.
    package static func now() -> Timestamp {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
    }

    package var text: String { InternetTime.text(milliseconds: milliseconds) }
}
