// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Standard output and error of the command line, by write(2).
package enum Terminal {
    /// Writes to standard output; what a closed pipe does not take is lost.
    package static func print(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    /// Writes to standard error.
    package static func complain(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// Whether a person can be asked.
    package static var isInteractive: Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
    }

    /// Asks a question on standard error; only `y` and `yes` agree.
    package static func confirms(_ question: String) -> Bool {
        complain("\(question) [y/N] ")
        let answer = readLine(strippingNewline: true)?.lowercased()
        return answer == "y" || answer == "yes"
    }

    private static func write(_ text: String, to descriptor: CInt) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { room in
                unsafe Glibc.write(descriptor, room.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return }
            written += count
        }
    }
}
