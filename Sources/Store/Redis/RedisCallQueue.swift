// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// Takes the answer to one call; called once for each token, never from within `send`.
@Reactor
package protocol RedisReplyReceiver: AnyObject {
    /// The answer, an error of Redis included; `reply` is valid only now.
    func replied(_ reply: RedisReplyTape, token: Int)
    /// There will be no answer.
    func failed(_ error: StoreError, token: Int)
}

/// The calls of one connection that wait for their answers, in the order they were sent.
///
/// A ring, so that a call costs no allocation. A call whose deadline passed stays in line without a receiver until its
/// answer comes and is thrown away.
struct RedisCallQueue {
    struct Call {
        /// Nil: given up.
        var receiver: (any RedisReplyReceiver)?
        var token: Int
        var sentAt: MonotonicInstant
        var deadline: MonotonicInstant
    }

    private var ring: [Call?]
    private var head = 0
    private(set) var count = 0

    init() {
        ring = Array(repeating: nil, count: 256)
    }

    var isEmpty: Bool { count == 0 }

    /// The deadline of the call whose answer is due next, given up or not.
    var oldestDeadline: MonotonicInstant? {
        count > 0 ? ring[head]?.deadline : nil
    }

    mutating func append(_ call: Call) {
        if count == ring.count { grow() }
        ring[(head + count) & (ring.count - 1)] = call
        count += 1
    }

    mutating func removeFirst() -> Call? {
        guard count > 0 else { return nil }
        let call = ring[head]
        ring[head] = nil
        head = (head + 1) & (ring.count - 1)
        count -= 1
        return call
    }

    /// Takes the receivers of calls whose deadline has passed, and says when the next one is due.
    mutating func expire(at now: MonotonicInstant) -> (expired: [Call], next: MonotonicInstant) {
        var expired: [Call] = []
        var next = MonotonicInstant.distantFuture
        for offset in 0..<count {
            let index = (head + offset) & (ring.count - 1)
            guard let call = ring[index], call.receiver != nil else { continue }
            if call.deadline <= now {
                expired.append(call)
                ring[index]?.receiver = nil
            } else {
                next = min(next, call.deadline)
            }
        }
        return (expired, next)
    }

    private mutating func grow() {
        var larger: [Call?] = Array(repeating: nil, count: ring.count * 2)
        for offset in 0..<count { larger[offset] = ring[(head + offset) & (ring.count - 1)] }
        ring = larger
        head = 0
    }
}
