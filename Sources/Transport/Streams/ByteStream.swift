// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers
import COpenSSL
import Glibc

/// A TCP or Unix connection, optionally with TLS inside: bytes in, bytes out, on the loop.
///
/// Reading fills `inbound`, which the owner consumes in place; it stops by itself above the high-water mark. Writing
/// appends to `outbound`; one flush at the end of the turn sends everything. Isolated to the Reactor; held by the loop
/// while open.
@Reactor
@safe
package final class ByteStream: EventSource {
    enum Phase: UInt8 {
        /// Made, not started. Can become: connecting, handshaking, open, closed.
        case idle
        case connecting
        case handshaking
        case open
        /// Everything is sent and our side is shut; listens on for a moment. Can become: closed.
        case lingering
        case closed
    }

    /// Whoever is told; may be replaced at any time, for instance after an upgrade.
    package var owner: (any StreamOwner)?
    /// Received, not yet consumed.
    ///
    /// Prefer `consume(_:)`; after consuming in another way call `inboundConsumed()`.
    package var inbound = ByteBuffer()
    /// Written, not yet sent.
    ///
    /// Prefer `write`; after appending directly call `outboundAppended()`.
    package var outbound = ByteBuffer()
    package let limits: StreamLimits
    /// The peer's address; the listener's own for a Unix client without a name.
    package let peer: SocketAddress
    /// Bytes that are ready for the socket but were not taken: ciphertext under TLS, unused without.
    var wire = ByteBuffer()
    /// Not reported yet: bytes that came before it are looked at first.
    var owedEnd: OwedEnd?

    // What takes a byte stands together: many thousands of streams wait for their peers.
    var phase = Phase.idle
    /// The TLS handshake is done: its owner has been told what was agreed on.
    var isSecured = false
    /// Whether we connected: the peer's last words are then the answer that somebody waits for.
    private(set) var isOutgoing = false
    /// The owner was told of the end; only the socket lives on for a moment.
    var wasReported = false
    /// The socket may hold unread bytes.
    ///
    /// Set by an event, cleared by a short read: no read is made to learn nothing.
    var mayRead = false
    /// The socket took everything so far.
    var mayWrite = true
    /// The peer's FIN was seen by epoll: a short read does not mean the socket is empty.
    var sawPeerEnd = false
    /// The end of input was reported.
    var inboundEnded = false
    var isReadingPaused = false
    var isReading = false
    var owesReceived = false
    var owesDrained = false
    var wantsClose = false
    var wantsWriteEnd = false
    var writeEnded = false
    var closeNotified = false
    var resetsOnClose = false
    /// It is to be closed when its turn comes, unless bytes have come by then.
    var isParting = false
    var readSize = 4096
    var lingerLeft = 0
    /// What waited to be sent when the flush deadline was armed, and when the flush must be over.
    var unsentAtArming = 0
    var flushEnd = MonotonicInstant.distantFuture
    var startFailure: StreamFailure?
    /// Why nothing can be sent any more, while what the peer said before that is still read.
    var brokenBy: StreamFailure?
    let timer: LoopTimer
    /// `limits.idleRelease`, as armed for every byte that arrives.
    let idleNanoseconds: UInt64

    let security: StreamSecurity
    // An SSL object, made on start and freed on close; `deinit` frees it where close never came.
    nonisolated(unsafe) var ssl: OpaquePointer?
    var moreToEncrypt = false
    /// OpenSSL may hold bytes that were not read from it.
    ///
    /// Cleared when it says that it has none, or none that can be used before more arrives: a peer that sends half a
    /// record is not asked again until the socket has something.
    var mayHoldInput = false
    var socketError: CInt = 0
    var ciphertextEnded = false
    var refusedServerName = false

    private init(
        loop: EventLoop,
        descriptor: CInt,
        peer: SocketAddress,
        security: StreamSecurity,
        limits: StreamLimits
    ) {
        self.peer = peer
        self.limits = limits
        self.security = security
        timer = LoopTimer(loop: loop)
        idleNanoseconds = UInt64(clamping: limits.idleRelease.nanosecondsClamped)
        super.init(loop: loop, descriptor: descriptor)
        timer.onFire = { [unowned self] in timerFired() }
    }

    /// A stream over a connection that a listener accepted; silent until `start(owner:)`.
    package convenience init(
        loop: EventLoop,
        accepted: AcceptedConnection,
        tls: TLSServerContext? = nil,
        limits: StreamLimits = .standard
    ) {
        self.init(
            loop: loop,
            descriptor: accepted.descriptor,
            peer: accepted.peer,
            security: tls.map { .server($0) } ?? .none,
            limits: limits
        )
        serves(lane: peer.lane)
    }

    /// A stream that will connect to `address`; `serverName` is what the peer's certificate must be for.
    package convenience init(
        loop: EventLoop,
        connectingTo address: SocketAddress,
        tls: TLSClientContext? = nil,
        serverName: String = "",
        limits: StreamLimits = .standard
    ) {
        self.init(
            loop: loop,
            descriptor: -1,
            peer: address,
            security: tls.map { .client($0, serverName: serverName) } ?? .none,
            limits: limits
        )
        lane = loop.nextLane()
        isOutgoing = true
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    /// Serves one client for now, in whose lane it takes its turns.
    @inline(__always)
    package func serves(lane: UInt8) {
        self.lane = lane
        servesOneClient = true
    }

    /// Begins to connect, shake hands or read.
    ///
    /// Nothing is reported before this call has returned.
    package func start(owner: any StreamOwner) {
        precondition(phase == .idle, "a stream is started once")
        self.owner = owner
        do throws(StreamFailure) {
            if descriptor < 0 { try openSocket() } else { phase = .open }
            SocketOptions.setForTraffic(descriptor, peer)
            try prepareSecurity()
            if phase == .open, unsafe ssl != nil { beginHandshake() }
            do throws(SystemError) { try loop.register(self) } catch { throw StreamFailure(error) }
        } catch {
            // No byte passes a stream that could not be secured.
            phase = .idle
            startFailure = error
            loop.atEndOfTurn(self)
        }
    }

    /// Whether the stream can still carry bytes in some direction.
    package var isClosed: Bool { phase == .closed || wasReported }

    /// Whether bytes can be written and will be sent.
    package var isOpen: Bool {
        phase == .open && !wantsClose && !wantsWriteEnd && brokenBy == nil && startFailure == nil
    }

    /// Whether the peer has ended its side, as far as epoll has told, even if unread bytes come before the end.
    package var peerHasEnded: Bool { sawPeerEnd || inboundEnded }

    override func ready(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.readable, .peerEnded, .hungUp, .failed]) { mayRead = true }
        if !readiness.isDisjoint(with: [.peerEnded, .hungUp, .failed]) { sawPeerEnd = true }
        let unblocked = !mayWrite && brokenBy == nil && readiness.contains(.writable)
        if unblocked { mayWrite = true }
        switch phase {
        case .open:
            if unblocked { flush() }
            if readiness.contains(.failed), phase == .open { return reportSocketError() }
            goOnReading()
        case .connecting:
            if readiness.rawValue & (Readiness.writable.rawValue | Readiness.failed.rawValue) != 0 { connectFinished() }
        case .handshaking: continueHandshake()
        case .lingering: linger()
        case .idle, .closed: break
        }
    }

    override func turnEnded() {
        if let failure = startFailure {
            startFailure = nil
            return sendingFailed(failure)
        }
        guard phase == .open else { return }
        flush()
        guard phase == .open, !isReadingPaused else { return }
        guard owesReceived || owedEnd != nil || mayHaveInput || wantsClose else { return }
        // While turns are long, who has more to read does so behind those who only just came.
        loop.isMeasuring || loop.waitsItsTurn(self) ? loop.continueLater(self) : goOnReading()
    }

    override func closingTurnCame() { closeNowIfQuiet() }
}
