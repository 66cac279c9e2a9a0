// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// What the owner of a session asks of it.
extension HTTP2Session {
    // MARK: Commands of a server

    /// Answers with `status`, the fields of `fields` not skipped, and the field lines of `added`.
    ///
    /// Where `hasBody`, bytes and an end must follow. Nothing happens on a stream that is over.
    package func respond(
        _ stream: HTTP2Stream,
        status: Int,
        fields: borrowing FieldTable,
        skipping skipped: KnownFieldSet,
        adding added: Span<UInt8>,
        hasBody: Bool
    ) {
        precondition(role == .server && status >= 200, "only servers answer, interim heads elsewhere")
        guard !stream.isClosed else { return }
        block.reset()
        block.append(name: ":status", number: status)
        block.append(fields, skipping: skipped)
        block.append(lines: added)
        if !hasBody { stream.isOutboundEnded = true }
        frames.respond(block, stream: stream, hasBody: hasBody)
    }

    /// Sends an interim answer before the final one.
    package func respondInterim(
        _ stream: HTTP2Stream,
        status: Int,
        fields: borrowing FieldTable,
        skipping skipped: KnownFieldSet
    ) {
        precondition(role == .server && status >= 100 && status < 200 && status != 101, "not an interim status")
        guard !stream.isClosed else { return }
        block.reset()
        block.append(name: ":status", number: status)
        block.append(fields, skipping: skipped)
        frames.respondInterim(block, stream: stream.id)
    }

    // MARK: Commands of a client

    /// Opens a stream with the method of `head`, its fields not skipped and the field lines of `added`; nil when a new
    /// connection is needed.
    ///
    /// `te: trailers` is kept where the client said so, since gRPC asks for it.
    package func request(
        _ head: borrowing RequestHead,
        scheme: StaticString,
        authority: Span<UInt8>,
        target: Span<UInt8>,
        skipping skipped: KnownFieldSet,
        adding added: Span<UInt8>,
        hasBody: Bool
    ) -> HTTP2Stream? {
        precondition(role == .client, "only clients ask")
        block.reset()
        block.append(name: ":method", value: head.methodBytes)
        block.append(name: ":scheme", value: "\(scheme)".utf8.span)
        block.append(name: ":authority", value: authority)
        block.append(name: ":path", value: target)
        block.append(head.fields, skipping: skipped.union([.host]))
        if head.acceptsTrailers { block.append(name: "te", value: "trailers".utf8.span) }
        block.append(lines: added)
        guard let id = frames.request(block, hasBody: hasBody) else { return nil }
        let stream = open(id)
        stream.method = head.method
        if !hasBody { stream.isOutboundEnded = true }
        return stream
    }

    // MARK: Commands of both

    /// Adds bytes to the body; keep within a limit of your own and wait for `.drained`.
    package func write(_ bytes: Span<UInt8>, to stream: HTTP2Stream) {
        guard !stream.isClosed, bytes.count > 0 else { return }
        precondition(!stream.isOutboundEnded, "wrote after the end of a body")
        stream.outbound.append(bytes)
        outboundTotal += bytes.count
        if stream.outbound.count > HTTP2Stream.crowdedWater { stream.isAboveLowWater = true }
        wake(stream)
    }

    /// Ends the body.
    package func end(_ stream: HTTP2Stream) {
        guard !stream.isClosed, !stream.isOutboundEnded else { return }
        stream.isOutboundEnded = true
        wake(stream)
    }

    /// Ends the body with the trailers not dropped or skipped.
    package func end(_ stream: HTTP2Stream, trailers: borrowing FieldTable, skipping skipped: KnownFieldSet) {
        guard !stream.isClosed, !stream.isOutboundEnded else { return }
        stream.outboundTrailers.append(trailers, skipping: skipped)
        stream.hasOutboundTrailers = !stream.outboundTrailers.entries.isEmpty
        end(stream)
    }

    private func wake(_ stream: HTTP2Stream) {
        guard stream.isDeferred else { return }
        stream.isDeferred = false
        frames.resume(stream.id)
    }

    /// Lets the peer send `count` more bytes: those taken from `stream.inbound` that have left.
    package func credit(_ count: Int, of stream: HTTP2Stream) {
        let count = min(count, stream.uncredited)
        guard count > 0 else { return }
        stream.uncredited -= count
        // What a closed stream still held was credited when it closed.
        guard !stream.isClosed else { return }
        if role == .client {
            frames.creditStream(count, stream: stream.id)
        } else {
            frames.credit(count, stream: stream.id)
        }
    }

    /// Reads no more of the peer's body: the rest is thrown away, and the stream ended a while
    /// after our answer has left.
    ///
    /// Not at once: clients that are busy sending (curl 7.88, httpx) miss an answer with a reset on its heels. What
    /// comes meanwhile is borne up to `settings.drain` bytes and `settings.linger`.
    package func ignoreInbound(of stream: HTTP2Stream) {
        guard !stream.isClosed, !stream.isInboundEnded, !stream.ignoresInbound else { return }
        stream.ignoresInbound = true
        stream.inbound.removeAll()
        let held = stream.uncredited
        stream.uncredited = 0
        discard(held, of: stream)
        if stream.isOutboundSent { linger(stream) }
    }

    /// Credits bytes that nobody will read, the stream only while it may be drained.
    func discard(_ count: Int, of stream: HTTP2Stream) {
        stream.discarded += count
        if role == .client {
            // The connection was credited on arrival.
            if stream.discarded <= settings.drain { frames.creditStream(count, stream: stream.id) }
        } else if stream.discarded <= settings.drain {
            frames.credit(count, stream: stream.id)
        } else {
            frames.creditConnection(count)
        }
    }

    func linger(_ stream: HTTP2Stream) {
        lingering.append((stream, now &+ settings.linger))
    }

    /// Ends the stream at once.
    package func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        guard !stream.isClosed else { return }
        ownResets.insert(stream.id)
        frames.reset(stream.id, code)
    }

    /// Ends the stream when what was written to it has gone out.
    package func endShort(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        guard !stream.isClosed else { return }
        guard !stream.outbound.isEmpty else { return reset(stream, code) }
        stream.shortEnd = code
    }

    /// Asks the peer for a sign of life; `.pong` is the answer.
    package func ping() {
        frames.ping()
    }

    /// Tells the peer that the connection will end; streams it opens meanwhile are still served.
    package func announceShutdown() {
        frames.announceShutdown()
    }

    /// Takes no new streams; those under way go on, and `isOver` follows the last of them.
    package func goAway(_ code: HTTP2ErrorCode = .noError) {
        progress.isEnding = true
        lastTaken = min(lastTaken, frames.goAway(code))
    }

    /// Ends the connection and all streams once the peer has been told why.
    package func terminate(_ code: HTTP2ErrorCode) {
        frames.terminate(code)
    }
}
