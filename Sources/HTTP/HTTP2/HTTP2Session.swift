// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// One HTTP/2 connection without its socket: bytes in, events out; commands in, bytes out.
///
/// After `receive` take all events; after commands, `send` what there is to send. Time comes in with the bytes. Owned
/// by one connection and isolated to whatever that is isolated to.
package final class HTTP2Session {
    /// Which end of the connection this is.
    package enum Role: Sendable {
        case server, client
    }

    package let role: Role
    let settings: HTTP2Settings
    let frames: NghttpSession
    var budgets: HTTP2Budgets
    /// What the peer did too much of, once it did.
    package internal(set) var flood: HTTP2Flood?
    /// Why we ended the connection, where it was for an error of the peer.
    package internal(set) var errorSent: HTTP2ErrorCode?
    var streams: [Int32: HTTP2Stream] = [:]
    /// The stream looked up last: fields and data come in runs.
    var latest: HTTP2Stream?
    private let pool: HTTP2StreamPool
    private var events: [HTTP2Event] = []
    private var nextIndex = 0
    var block = HeaderBlock()
    var now: UInt64 = 0
    /// The bytes of the present header block as HTTP/2 counts them, and those of its fields alone.
    var blockBytes = 0
    var fieldBytes = 0
    /// Body bytes of all streams that wait to be sent.
    var outboundTotal = 0
    /// Answered streams whose bodies still come, and until when that is borne; in order of time.
    var lingering: [(stream: HTTP2Stream, until: UInt64)] = []
    /// The last stream that is served, once that is decided.
    var lastTaken = Int32.max
    var closed = ClosedStreams()
    /// Streams we reset ourselves, so that the library's own resets can be told from them.
    var ownResets: Set<Int32> = []

    var progress: FrameProgress
    /// Whether the connection ends for an error of the peer that we found ourselves.
    private var isDeaf = false
    /// When the header block that is not complete yet began, by the clock of `receive`.
    package private(set) var blockBeganAt: UInt64?
    /// Whether the peer has said something whole.
    package private(set) var hasHeardPeer = false

    /// A connection at its start, whose preface is the first thing to send; nil only without memory.
    ///
    /// Sessions that share `pool` share the streams that are over.
    package init?(_ role: Role, settings: HTTP2Settings = HTTP2Settings(), pool: HTTP2StreamPool = HTTP2StreamPool()) {
        guard let frames = NghttpSession(isServer: role == .server, settings: settings) else { return nil }
        self.role = role
        self.settings = settings
        self.pool = pool
        self.frames = frames
        budgets = settings.budgets
        progress = FrameProgress(isServer: role == .server, continuations: settings.continuations)
        frames.listen(self)
    }

    // MARK: Bytes

    /// Takes `bytes`, or the first of them that are `work` enough, and gives their number; on a throw send what
    /// there is to send and close.
    ///
    /// Work is counted in parts of about a quarter of a microsecond; a request is 64 and more.
    @discardableResult
    package func receive(
        _ bytes: Span<UInt8>,
        now nanoseconds: UInt64,
        work: Int = .max
    ) throws(HTTP2Failure) -> Int {
        tick(now: nanoseconds)
        progress.begin(work: work)
        let taken = feed(bytes)
        if progress.unknownFrames > 0 {
            unknownFramesCame(progress.unknownFrames)
            progress.unknownFrames = 0
        }
        if !progress.isInsideBlock { blockBeganAt = nil } else if blockBeganAt == nil { blockBeganAt = now }
        if !progress.isInsideFrame { hasHeardPeer = true }
        if let flood {
            frames.terminate(.enhanceYourCalm)
            throw .flood(flood)
        }
        guard let taken else { throw .broken }
        return taken
    }

    /// Hands bytes to the library, up to a frame that it would ignore and the protocol forbids; nil when it is broken.
    ///
    /// That is HEADERS or DATA on a stream that is over. Then the connection ends, as with the errors that the library
    /// finds, and no more is looked at.
    private func feed(_ bytes: Span<UInt8>) -> Int? {
        if isDeaf { return bytes.count }
        var fed = 0
        var at = 0
        while at < bytes.count, !progress.isTired {
            at = progress.advance(bytes, from: at)
            if role == .server, let id = progress.continued, progress.sawEnding || streams[id] == nil {
                // What comes before may have opened or ended the stream.
                let start = max(fed, at &- 9)
                guard frames.receive(bytes.extracting(fed..<start)) else { return nil }
                fed = start
                if stream(id) == nil, let fault = closed.fault(of: id) {
                    frames.terminate(fault)
                    isDeaf = true
                    return bytes.count
                }
            }
            if progress.hasTooManyContinuations {
                guard frames.receive(bytes.extracting(fed..<max(fed, at &- 9))) else { return nil }
                _ = stop(.continuations)
                return bytes.count
            }
            if progress.isEnding, progress.isBetweenFrames {
                // The library looks whether it wants more at the start of each call only.
                guard frames.receive(bytes.extracting(fed..<at)) else { return nil }
                guard frames.wantsRead else { return bytes.count }
                fed = at
            }
        }
        return frames.receive(bytes.extracting(fed..<at)) ? at : nil
    }

    /// Lets time pass without bytes: call it about once a second.
    package func tick(now nanoseconds: UInt64) {
        now = nanoseconds
        while let first = lingering.first, first.until <= now {
            lingering.removeFirst()
            if first.stream.ignoresInbound, first.stream.isOutboundSent { reset(first.stream, .noError) }
        }
    }

    /// Appends what is to be sent to `buffer`, stopping soon after it holds `limit` bytes.
    package func send(into buffer: inout ByteBuffer, limit: Int) throws(HTTP2Failure) {
        guard frames.send(into: &buffer, limit: limit) else { throw .broken }
        // Resets that the library had to send count when they leave.
        if let flood { throw .flood(flood) }
    }

    /// Whether `send` would produce anything.
    package var hasOutput: Bool { frames.wantsWrite }

    /// Whether nothing the peer says will be listened to: it broke the protocol, or is done.
    package var hasGivenUp: Bool { !frames.wantsRead }

    /// Whether both sides are done and the socket can be closed.
    package var isOver: Bool { !frames.wantsRead && !frames.wantsWrite }

    /// The next thing that happened; nil when all has been told.
    package func nextEvent() -> HTTP2Event? {
        while nextIndex < events.count {
            let event = events[nextIndex]
            nextIndex += 1
            // Bytes that were taken or thrown away since are no news.
            if case .data(let stream) = event, stream.inbound.isEmpty { continue }
            return event
        }
        events.removeAll(keepingCapacity: true)
        nextIndex = 0
        return nil
    }

    func tell(_ event: HTTP2Event) {
        events.append(event)
    }

    // MARK: Streams

    /// How many more streams the peer lets a client open now.
    package var room: Int { max(0, frames.peerConcurrentStreams - streams.count) }

    func stream(_ id: Int32) -> HTTP2Stream? {
        if let latest, latest.id == id { return latest }
        latest = streams[id]
        return latest
    }

    func open(_ id: Int32) -> HTTP2Stream {
        let stream = pool.take()
        stream.id = id
        stream.request.version = .http2
        streams[id] = stream
        latest = stream
        return stream
    }

    /// Takes back a closed stream for reuse; its owner forgets it.
    package func recycle(_ stream: HTTP2Stream) {
        precondition(stream.isClosed, "an open stream was handed back")
        pool.give(stream)
    }

    /// Whether the streams together have so much to send that none of them should take more than it must.
    package var isOutboundCrowded: Bool { outboundTotal > Self.crowdedTotal }

    /// Four streams as full as one may be: many streams that nobody reads are not to hold as much each.
    private static let crowdedTotal = 512 * 1024
}

/// Why a connection must end.
package enum HTTP2Failure: Error, Sendable, Equatable {
    /// The peer does not speak HTTP/2, or there is no memory.
    case broken
    /// The peer did too much of something.
    case flood(HTTP2Flood)
}
