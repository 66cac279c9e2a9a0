// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// A failed system call: the value of errno.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The value of errno.
    package let code: CInt

    package init(_ code: CInt) {
        self.code = code
    }

    /// The system's text, such as "Connection refused".
    package var description: String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}
