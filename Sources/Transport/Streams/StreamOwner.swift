// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a stream tells its owner; all calls come on the loop, never from inside a call the owner makes to the stream.
///
/// The stream holds its owner strongly until it is closed.
@Reactor
package protocol StreamOwner: AnyObject {
    /// A client's TCP or Unix connection stands; TLS, where wanted, comes next.
    func streamConnected(_ stream: ByteStream)
    /// The TLS handshake is done.
    func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts)
    /// `stream.inbound` grew, or reading was resumed with bytes left in it. Consume what can be used; the rest stays.
    func streamReceived(_ stream: ByteStream)
    /// The output of a congested stream fell below the low-water mark.
    func streamDrained(_ stream: ByteStream)
    /// The peer ended its side in order (FIN, with close_notify before it under TLS); writing still works.
    func streamEnded(_ stream: ByteStream)
    /// The stream is closed; nothing follows. Nil after `closeAfterFlush()`. Not called after `close()`.
    func streamClosed(_ stream: ByteStream, _ failure: StreamFailure?)
}

extension StreamOwner {
    package func streamConnected(_ stream: ByteStream) {}
    package func streamSecured(_ stream: ByteStream, _ session: TLSSessionFacts) {}
    package func streamDrained(_ stream: ByteStream) {}
}

/// The sizes and times that streams keep: one object for all streams of a kind, set before the first of them is made.
@Reactor
package final class StreamLimits {
    /// Reading stops while this many bytes wait in `inbound`.
    package var inboundHighWater = 64 << 10
    /// The stream counts as congested above this many unsent bytes.
    package var outboundHighWater = 256 << 10
    /// A congested stream reports `streamDrained` at this many, above which it is congested while memory is short.
    package var outboundLowWater = 64 << 10
    /// Unsent bytes above this go out at once instead of at the end of the turn.
    package var earlyFlush = 64 << 10
    /// From the start of a connect to its end.
    package var connectDeadline = Duration.seconds(5)
    /// From the first byte's chance to the end of the TLS handshake.
    package var handshakeDeadline = Duration.seconds(10)
    /// After this much silence an empty stream gives its buffers back.
    package var idleRelease = Duration.milliseconds(300)
    /// How long `closeAfterFlush()` waits for the peer to take something of what was written.
    package var flushDeadline = Duration.seconds(30)
    /// How long it waits for the peer to take all of it, however steadily it does.
    package var flushPatience = Duration.seconds(120)
    /// How long, and for how many bytes, a closing stream listens on so that its last answer is not lost to a reset.
    package var lingerDeadline = Duration.seconds(2)
    /// See `lingerDeadline`.
    package var lingerBytes = 256 << 10

    /// What streams keep that nobody gave limits.
    package static let standard = StreamLimits()

    /// The defaults, each with its reason beside it.
    package init() {}
}
