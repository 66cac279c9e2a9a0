// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Encodings
package import Telemetry
import Transport

/// One JSON line a request, gathered and written together.
///
/// Isolated to its process's loop.
///
/// It never holds up the loop: a file takes whole turns with one append, a pipe takes what fits without waiting. Lines
/// that find neither room in the buffer nor in the pipe are dropped and counted.
package final class AccessLog {
    private var buffer = ByteBuffer(capacity: 16_384)
    private var sink: LogSink
    private let dropped: Counter
    private var stamp = TimestampCache()
    private var written = MonotonicInstant(nanoseconds: 0)
    /// At a thousand lines a turn this is several turns; more waiting than this means a reader that has stopped.
    private static let bufferLimit = 1 << 20
    /// What of a client's own words is told: with them no line outgrows what a pipe takes in one piece.
    private static let mostOfMethod = 64
    private static let mostOfRequestID = 128
    /// Lines wait so long for others at most: one append of many costs the file system half of what many cost.
    static let delay = Duration.milliseconds(10)
    /// So many bytes are worth an append at once.
    private static let batch = 64 << 10

    package init(sink: consuming LogSink, dropped: Counter) {
        self.sink = sink
        self.dropped = dropped
    }

    /// Appends the line of one request; the beginnings of `requestID` and `method` as the client sent them.
    package func record(_ entry: borrowing AccessEntry, requestID: Span<UInt8>, method: Span<UInt8>) {
        guard !sink.isClosed else { return }
        guard buffer.count < Self.bufferLimit else { return dropped.increment() }
        buffer.append("{\"ts\":\"")
        stamp.append(microseconds: entry.timeMicroseconds, to: &buffer)
        buffer.append("\",\"id\":\"")
        entry.decisionID.append(to: &buffer)
        buffer.append("\"")
        if !requestID.isEmpty {
            let told = requestID.extracting(0..<min(requestID.count, Self.mostOfRequestID))
            JSONLine.append(",\"request_id\":", told, to: &buffer)
        }
        JSONLine.append(",\"decision\":", word: entry.outcome.word, to: &buffer)
        JSONLine.append(",\"reason\":", entry.reason, to: &buffer)
        buffer.append(contentsOf: entry.app)
        // The key of an outside issuer is named by that issuer.
        JSONLine.append(",\"key_id\":", entry.keyID, to: &buffer)
        JSONLine.append(",\"credential\":", plain: entry.credential, to: &buffer)
        JSONLine.append(",\"trust\":", plain: entry.trust, to: &buffer)
        buffer.append(contentsOf: entry.route)
        if !method.isEmpty {
            let told = method.extracting(0..<min(method.count, Self.mostOfMethod))
            JSONLine.append(",\"method\":", told, to: &buffer)
        }
        JSONLine.append(",\"status\":", number: entry.status, to: &buffer)
        JSONLine.append(",\"client\":", plain: entry.client, to: &buffer)
        JSONLine.append(",\"proto\":", word: entry.httpVersion.word, to: &buffer)
        JSONLine.append(",\"tls\":", plain: entry.tls, to: &buffer)
        JSONLine.append(",\"bytes_in\":", number: entry.bytesIn, to: &buffer)
        JSONLine.append(",\"bytes_out\":", number: entry.bytesOut, to: &buffer)
        JSONLine.append(",\"time\":", microseconds: entry.totalMicroseconds, to: &buffer)
        if let upstream = entry.upstreamMicroseconds {
            JSONLine.append(",\"upstream_time\":", microseconds: upstream, to: &buffer)
        }
        buffer.append(contentsOf: entry.upstream)
        buffer.append("}\n")
    }

    /// A loop turn has ended: writes what was gathered, unless it has just written and little waits.
    ///
    /// The answer says whether lines wait for others; then `flush()` is to follow within `delay`.
    func turnEnded(at now: MonotonicInstant) -> Bool {
        guard buffer.count >= Self.batch || now >= written.advanced(by: Self.delay) else { return !buffer.isEmpty }
        written = now
        flush()
        return false
    }

    /// Writes what was gathered.
    package func flush() {
        guard !buffer.isEmpty else { return }
        sink.write(&buffer)
    }

    /// Whether lines wait for a reader that is slow.
    package var hasBacklog: Bool { !buffer.isEmpty }

    /// Writes the last lines before the process ends; a reader that has stopped gets half a second.
    package func finish() {
        sink.write(&buffer, waiting: 500)
    }

    /// Writes to another place from now on; on failure the old one stays.
    package func redirect(to destination: LogSink.Destination) throws(TelemetryError) {
        let next = try LogSink(destination)
        flush()
        sink = next
    }

    /// Opens the file again under its name: after rotation (USR1).
    package func reopen() throws(TelemetryError) {
        flush()
        try sink.reopen()
    }
}

/// The text of the present second, made once a second.
struct TimestampCache {
    private var second: Int64 = .min
    private var prefix: [UInt8] = []

    mutating func append(microseconds: Int64, to buffer: inout ByteBuffer) {
        let now = microseconds / 1_000_000
        if now != second {
            second = now
            prefix = Array(InternetTime.text(seconds: now).utf8.dropLast())
        }
        buffer.append(prefix.span)
        JSONLine.fraction(Int(microseconds - now * 1_000_000), to: &buffer)
        buffer.append(UInt8(ascii: "Z"))
    }
}
