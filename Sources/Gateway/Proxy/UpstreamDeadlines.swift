// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// What an exchange waits for on its upstream's side: decides which deadline is armed, and whose fault a failure is.
///
/// A pure value, used alike by a connection of HTTP/1.1 and by a stream of HTTP/2, which tell it what happened and arm
/// their timers for what it says.
struct UpstreamDeadlines: Equatable {
    enum Wait {
        /// The connect, or the next request.
        case none
        /// The client still owes some of the request: silence on both sides is too long at some
        /// time, and nobody's fault.
        case request
        /// The upstream has the whole request and owes the head of its answer.
        case head
        /// More of the answer is due.
        case body
        /// After a 101: bytes of either side.
        case relay
    }

    /// A deadline and what its passing means.
    struct Due: Equatable {
        let instant: MonotonicInstant
        let failure: UpstreamFailure
    }

    private(set) var wait = Wait.none
    /// Whether the client is waited for, which has too much of the answer and a deadline of its own.
    private(set) var isPaused = false

    /// A request begins, or nothing is under way.
    mutating func reset() { self = UpstreamDeadlines() }

    /// The head or more of the request has gone out.
    mutating func requestMoved(isWhole: Bool) {
        guard wait != .body, wait != .relay else { return }
        wait = isWhole ? .head : .request
    }

    /// The final head of the answer has come.
    mutating func headArrived(isSwitch: Bool) { wait = isSwitch ? .relay : .body }

    mutating func paused() { isPaused = true }

    mutating func resumed() { isPaused = false }

    /// What is armed now; `end` is the end of the whole exchange.
    func due(from now: MonotonicInstant, _ times: UpstreamTimeoutSettings, end: MonotonicInstant?) -> Due {
        let end = end ?? .distantFuture
        let limit: Duration
        let failure: UpstreamFailure
        switch wait {
        case .request: (limit, failure) = (max(times.idle, times.firstByte), .idleTimedOut)
        case .head: (limit, failure) = (times.firstByte, .firstByteTimedOut)
        case .body where !isPaused, .relay where !isPaused: (limit, failure) = (times.idle, .idleTimedOut)
        case .none, .body, .relay: return Due(instant: end, failure: .totalTimedOut)
        }
        let instant = now.advanced(by: limit)
        return end < instant ? Due(instant: end, failure: .totalTimedOut) : Due(instant: instant, failure: failure)
    }

    /// Whether `failure` says something of the endpoint, so that enough of them in a row eject it.
    ///
    /// Never what a client can bring about: a deadline that it or the route set, an upload it does not finish, an
    /// answer it does not read or says nothing more to.
    func blamesEndpoint(for failure: UpstreamFailure) -> Bool {
        switch failure {
        case .invalidResponse, .nameNotResolved, .connectTimedOut, .connectRefused, .connectFailed, .certificate,
            .protocolRefused:
            true
        case .firstByteTimedOut, .closedEarly: wait == .none || wait == .head
        // gRPC servers cancel a call whose time is over, which its client chose.
        case .streamReset(let code): wait == .head && code != .cancel
        case .idleTimedOut, .totalTimedOut, .poolExhausted, .upgradeFailed: false
        }
    }
}
