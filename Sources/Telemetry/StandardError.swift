// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Standard error as all processes of a gateway write to it: whole lines, and never waiting for whoever reads them.
///
/// It is shared with whoever started us, so it stays as it is: a pipe is opened anew, so that O_NONBLOCK is ours
/// alone; a socket is told with each line; another user's pipe, which cannot be opened, is asked before each line.
/// What is not taken is lost.
package enum StandardError {
    private enum Kind { case file, pipe, sharedPipe, socket }

    private static let target: (descriptor: CInt, kind: Kind) = open()

    /// What a pipe takes in one piece (PIPE_BUF).
    private static let longestLine = 4_096

    /// Writes one line, the beginning of one that is too long.
    package static func write(_ line: [UInt8]) {
        var line = line
        if line.count > longestLine {
            line.removeSubrange((longestLine - 1)...)
            line.append(UInt8(ascii: "\n"))
        }
        let (descriptor, kind) = target
        switch kind {
        case .socket:
            _ = unsafe send(descriptor, line, line.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        case .sharedPipe where !takesMore(descriptor):
            return
        case .file, .pipe, .sharedPipe:
            _ = unsafe Glibc.write(descriptor, line, line.count)
        }
    }

    /// What a program that is started in our place should have as its standard output: it waits for nobody either.
    package static var descriptor: CInt { target.descriptor }

    private static func open() -> (CInt, Kind) {
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return (STDERR_FILENO, .file) }
        switch status.st_mode & S_IFMT {
        case S_IFSOCK: return (STDERR_FILENO, .socket)
        case S_IFIFO:
            let flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
            let descriptor = unsafe Glibc.open("/proc/self/fd/\(STDERR_FILENO)", flags)
            return descriptor >= 0 ? (descriptor, .pipe) : (STDERR_FILENO, .sharedPipe)
        // A file never waits; opened anew it would have another end than the one others write at.
        default: return (STDERR_FILENO, .file)
        }
    }

    private static func takesMore(_ descriptor: CInt) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, 0) == 1 && Int32(entry.revents) & POLLOUT != 0
    }
}
