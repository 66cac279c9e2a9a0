// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Synchronization

/// The signals a supervisor answers to, as readable bytes: the handlers write to a pipe and do nothing else.
@safe
package struct SignalPipe: ~Copyable {
    /// The readable end: non-blocking, close-on-exec.
    package let descriptor: CInt

    package static let watched: [CInt] = [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGCHLD]

    /// Installs the handlers; once in a process.
    package init() throws(ProcessFault) {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw ProcessFault(doing: "make a pipe for signals", errno: errno) }
        self.descriptor = Descriptors.keep(ends[0])
        let writer = Descriptors.keep(ends[1])
        Descriptors.setNonBlocking(descriptor)
        Descriptors.setNonBlocking(writer)
        signalWriter.store(writer, ordering: .sequentiallyConsistent)
        for number in Self.watched { signal(number, signalArrived) }
        signal(SIGPIPE, SIG_IGN)
    }

    /// The signals that came since the last call.
    package func take() -> [CInt] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return count > 0 ? bytes[..<count].map(CInt.init) : []
    }

    /// What children do: only their supervisor's messages count, not a Ctrl-C at the terminal.
    package static func ignoreInChild() {
        for number in [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE] { signal(number, SIG_IGN) }
    }
}

/// The writable end for the handler; touched before any handler is installed, so never initialised inside one.
private let signalWriter = Atomic<CInt>(-1)

/// A file-scope function, since a handler has no context.
private func signalArrived(_ number: CInt) {
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: number)
    // A full pipe holds the same signal already.
    _ = unsafe write(signalWriter.load(ordering: .relaxed), &byte, 1)
    errno = saved
}
