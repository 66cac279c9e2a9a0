// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Takes the PROXY header off the front of an accepted connection, before TLS or HTTP see a byte of it.
///
/// Isolated to the Reactor; held by the loop until it is done. Not one byte after the header is taken.
@Reactor
@safe
package final class ProxyPreface: EventSource {
    /// What is given on: the connection with the address the header names, or why there is none (it is closed next).
    package typealias Outcome = Result<AcceptedConnection, ProxyFailure>

    private let peer: SocketAddress
    /// Whether a connection without a header is refused; otherwise it is given on as it is.
    private let isRequired: Bool
    private let timer: LoopTimer
    private var done: (@Reactor (Outcome) -> Void)?

    /// A preface over `accepted`, which it owns until `done` is called, once, on the loop and
    /// never from inside `start`.
    package init(
        loop: EventLoop,
        accepted: AcceptedConnection,
        isRequired: Bool,
        done: @escaping @Reactor (Outcome) -> Void
    ) {
        peer = accepted.peer
        self.isRequired = isRequired
        self.done = done
        timer = LoopTimer(loop: loop)
        super.init(loop: loop, descriptor: accepted.descriptor)
        timer.onFire = { [unowned self] in end(.failure(.tooSlow)) }
    }

    /// Begins to wait for the header, at most until `deadline` has passed.
    package func start(deadline: Duration) {
        timer.arm(after: deadline)
        do throws(SystemError) { try loop.register(self) } catch { loop.atEndOfTurn(self) }
    }

    override func ready(_ readiness: Readiness) {
        unsafe withUnsafeTemporaryAllocation(byteCount: ProxyHeader.longest, alignment: 8) { scratch in
            let seen = unsafe recv(descriptor, scratch.baseAddress, scratch.count, CInt(MSG_PEEK))
            if seen < 0, errno == EAGAIN || errno == EINTR { return }
            guard seen > 0 else { return end(.failure(.closedEarly)) }
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: scratch[..<seen]).bindMemory(to: UInt8.self)
            judge(unsafe Span(_unsafeElements: bytes), hasEnded: readiness.contains(.peerEnded))
        }
    }

    /// The loop could not watch the connection.
    override func turnEnded() {
        end(.failure(.closedEarly))
    }

    private func judge(_ bytes: Span<UInt8>, hasEnded: Bool) {
        do throws(ProxyFailure) {
            switch try ProxyHeader.read(bytes) {
            case .needMore:
                if hasEnded { end(.failure(.closedEarly)) }
            case .absent:
                end(isRequired ? .failure(.missing) : .success(AcceptedConnection(descriptor: descriptor, peer: peer)))
            case .header(let header, let length):
                guard take(length) else { return end(.failure(.closedEarly)) }
                end(.success(AcceptedConnection(descriptor: descriptor, peer: header.client ?? peer)))
            }
        } catch {
            end(.failure(error))
        }
    }

    /// Removes the header, which has been seen whole, from the socket.
    private func take(_ length: Int) -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: ProxyHeader.longest, alignment: 8) { scratch in
            unsafe recv(descriptor, scratch.baseAddress, length, 0) == length
        }
    }

    private func end(_ outcome: Outcome) {
        guard let done else { return }
        self.done = nil
        timer.cancel()
        loop.deregister(self)
        let descriptor = descriptor
        self.descriptor = -1
        // What is counted is counted before the peer can see the end.
        done(outcome)
        if case .failure = outcome { close(descriptor) }
    }
}
