// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// One request and its answer on an HTTP/2 connection: heads, and the bytes on their way in and out.
///
/// Made and reused by its session; isolated to whatever its session is isolated to. After `.closed` the owner may read
/// on, and hands it back with `HTTP2Session.recycle`.
package final class HTTP2Stream {
    /// Below this many bytes to send, the owner is told to bring more.
    package static let lowWater = 32 * 1024
    /// The same where the connection's streams together hold too much.
    package static let crowdedWater = 8 * 1024

    /// The stream's number on its connection.
    package internal(set) var id: Int32 = 0
    /// The request: received by a server, unused by a client.
    package var request = RequestHead()
    /// The answer: received by a client, unused by a server.
    package var response = ResponseHead()
    /// Body bytes received and not yet taken; say so with `HTTP2Session.credit` when they have left.
    package var inbound = ByteBuffer()
    /// The trailers received; what may not be one is marked dropped.
    package var trailers = FieldTable()
    /// Whether trailers came.
    package internal(set) var hasTrailers = false
    /// Whether the peer has sent all.
    package internal(set) var isInboundEnded = false
    /// Whether the stream is over.
    package internal(set) var isClosed = false
    /// Whether anything has left: a client's request of which nothing has was never heard of.
    package internal(set) var hasBegunToSend = false
    /// Whether it was this end that reset the stream, for a fault of the peer's or because its owner asked.
    package internal(set) var wasResetHere = false
    /// What the owner ties to the stream; let go of when the stream is recycled.
    package var context: AnyObject?

    /// Body bytes to be sent.
    var outbound = ByteBuffer()
    var outboundTrailers = HeaderBlock()
    var hasOutboundTrailers = false
    /// Whether nothing will be added to `outbound`.
    var isOutboundEnded = false
    /// With which reset it ends when `outbound` is empty, because there will never be the rest of it.
    var shortEnd: HTTP2ErrorCode?
    /// Whether the end has left.
    var isOutboundSent = false
    /// Whether the library waits to be told of new bytes.
    var isDeferred = false
    var isAboveLowWater = false
    /// Whether the rest of the peer's body is not wanted: it is told once our end has left.
    var ignoresInbound = false
    /// Bytes received and not yet credited.
    var uncredited = 0
    /// Bytes received after nobody wanted them any more.
    var discarded = 0
    var phase = Phase.head
    var violation: HTTPViolation?
    var cookies = ByteBuffer()
    var method = Method.get
    /// The interim answers that have come.
    var interims = InterimTally()

    /// Which header block comes next.
    enum Phase {
        case head, body
    }

    init() {}

    /// The bytes of the body that the peer's windows have let go.
    package internal(set) var sentCount = 0

    /// The bytes handed over for sending that have not left yet.
    package var outboundCount: Int { outbound.count }

    /// A reused stream keeps buffers up to this size: a pool of those that carried a download would hold megabytes.
    private static let keptCapacity = 8 * 1024

    func reset() {
        id = 0
        request.reset()
        response.reset()
        if inbound.capacity > Self.keptCapacity { inbound.release() } else { inbound.removeAll() }
        trailers.reset()
        hasTrailers = false
        isInboundEnded = false
        isClosed = false
        hasBegunToSend = false
        wasResetHere = false
        context = nil
        if outbound.capacity > Self.keptCapacity { outbound.release() } else { outbound.removeAll() }
        outboundTrailers.reset()
        hasOutboundTrailers = false
        isOutboundEnded = false
        shortEnd = nil
        isOutboundSent = false
        isDeferred = false
        isAboveLowWater = false
        ignoresInbound = false
        uncredited = 0
        discarded = 0
        sentCount = 0
        phase = .head
        violation = nil
        cookies.removeAll()
        method = .get
        interims = InterimTally()
    }
}

extension ByteBuffer {
    /// Moves `length` bytes from the front to the end of `other`.
    mutating func move(_ length: Int, to other: inout ByteBuffer) {
        other.append(bytes.extracting(0..<length))
        consume(length)
    }
}
