// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a slot or a log file could not be opened.
package struct TelemetryError: Error, Equatable, CustomStringConvertible {
    package let doing: String
    package let errno: CInt

    package init(doing: String, errno: CInt) {
        self.doing = doing
        self.errno = errno
    }

    package var description: String { "cannot \(doing): \(systemMessage(errno))" }
}
