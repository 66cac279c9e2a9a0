// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers
import Glibc

/// Where access-log lines go: a file, standard output or nowhere.
///
/// Owned by one log, on one thread.
package struct LogSink: ~Copyable {
    /// What the configuration asks for.
    package enum Destination: Sendable, Equatable {
        case none
        case standardOutput
        case file(String)
    }

    private enum Kind { case closed, file, pipe, sharedPipe, socket }

    private let destination: Destination
    private var descriptor: CInt
    private var kind: Kind

    /// Opens the destination; a file is made with mode 0640 and appended to.
    package init(_ destination: Destination) throws(TelemetryError) {
        self.destination = destination
        (self.descriptor, self.kind) = try Self.open(destination)
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// Whether lines go nowhere, so that none need be made.
    package var isClosed: Bool { kind == .closed }

    /// Writes from the front of `buffer` as much as is taken without waiting.
    package mutating func write(_ buffer: inout ByteBuffer) {
        while !buffer.isEmpty {
            let length = kind == .pipe || kind == .sharedPipe ? Self.wholeLines(buffer.bytes) : buffer.count
            guard kind != .sharedPipe || takesMore() else { return }
            let written = unsafe buffer.bytes.withUnsafeBufferPointer { bytes in
                kind == .socket
                    ? unsafe send(descriptor, bytes.baseAddress, length, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
                    : unsafe Glibc.write(descriptor, bytes.baseAddress, length)
            }
            if written > 0 {
                buffer.consume(written)
            } else if errno != EINTR {
                if errno != EAGAIN { buffer.removeAll() }
                return
            }
        }
    }

    /// Writes all of `buffer`, waiting for whoever reads as long as `milliseconds` allow: for the last lines.
    package mutating func write(_ buffer: inout ByteBuffer, waiting milliseconds: Int) {
        var left = milliseconds
        write(&buffer)
        while !buffer.isEmpty, left > 0 {
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = unsafe poll(&entry, 1, 10)
            left -= 10
            write(&buffer)
        }
    }

    /// Opens the same destination anew; on failure the old one stays.
    package mutating func reopen() throws(TelemetryError) {
        guard case .file = destination else { return }
        let (next, kind) = try Self.open(destination)
        close(descriptor)
        descriptor = next
        self.kind = kind
    }

    private static func open(_ destination: Destination) throws(TelemetryError) -> (CInt, Kind) {
        switch destination {
        case .none:
            return (-1, .closed)
        case .file(let path):
            // A pipe that nobody reads is refused: without O_NONBLOCK the worker would wait for a reader, at each line.
            let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
            let descriptor = unsafe Glibc.open(path, flags, 0o640)
            guard descriptor >= 0 else { throw TelemetryError(doing: "open the access log \(path)", errno: errno) }
            return (descriptor, kind(of: descriptor))
        case .standardOutput:
            // Opened anew so that O_NONBLOCK is ours alone: standard output is shared with whoever started us.
            let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
            let descriptor = unsafe Glibc.open("/proc/self/fd/1", flags)
            if descriptor >= 0 { return (descriptor, kind(of: descriptor)) }
            // Another user's pipe, or a socket, cannot be opened again: it stays shared and is asked before each write.
            let kind = kind(of: STDOUT_FILENO)
            return (STDOUT_FILENO, kind == .pipe ? .sharedPipe : kind)
        }
    }

    /// Whether a blocking pipe takes PIPE_BUF bytes now.
    private func takesMore() -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, 0) == 1 && Int32(entry.revents) & POLLOUT != 0
    }

    private static func kind(of descriptor: CInt) -> Kind {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return .closed }
        switch status.st_mode & S_IFMT {
        case S_IFSOCK: return .socket
        case S_IFREG: return .file
        default: return .pipe
        }
    }

    /// The length of the whole lines that a pipe takes in one piece (PIPE_BUF), so that processes do not mix lines.
    ///
    /// A line that is longer goes in pieces: more than that could wait for whoever reads.
    static func wholeLines(_ bytes: Span<UInt8>) -> Int {
        guard bytes.count > 4096 else { return bytes.count }
        var end = 4096
        while end > 0, bytes[end - 1] != UInt8(ascii: "\n") { end -= 1 }
        return end > 0 ? end : 4096
    }
}
