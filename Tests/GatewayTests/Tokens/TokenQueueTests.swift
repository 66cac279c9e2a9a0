// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Limits
import Testing
import Transport

@testable import Gateway

// The macros of the tests take no mutating calls, so what mutates is held by classes.
private final class Queue {
    var inner = TokenQueue()
    var count: Int { inner.count }
    var isEmpty: Bool { inner.isEmpty }
    func enter(_ token: [UInt8], as use: TokenUse, from network: ClientNetwork) -> TokenQueue.Entry {
        inner.enter(token, as: use, from: network) { _ in }
    }
    func next() -> TokenQueue.Flight? { inner.next() }
}

private final class Budget {
    var inner = CheckBudget()
    func mayCheck(at now: MonotonicInstant) -> Bool { inner.mayCheck(at: now) }
    func spent(from start: MonotonicInstant, to end: MonotonicInstant) { inner.spent(from: start, to: end) }
}

private final class Parking {
    var inner = TokenParking()
    func enter(_ issuer: String, from network: UInt32 = 1, at now: MonotonicInstant) -> Bool {
        step(issuer, from: network, at: now) == .waits
    }
    func step(_ issuer: String, from network: UInt32, at now: MonotonicInstant) -> TokenParking.Entry {
        inner.enter(issuer, from: ClientNetwork(ipv4: network), at: now)
    }
    func leave() { inner.leave() }
}

@Suite struct TokenQueueTests {
    private func network(_ number: UInt32) -> ClientNetwork { ClientNetwork(ipv4: number << 8) }

    private func enter(
        _ queue: Queue,
        _ token: String,
        _ use: TokenUse = .application,
        from number: UInt32 = 1
    )
        -> TokenQueue.Entry
    {
        queue.enter(Array(token.utf8), as: use, from: network(number))
    }

    @Test func `tokens wait in the order they came, each once`() {
        let queue = Queue()
        for token in ["a", "b", "a", "c", "b"] { #expect(enter(queue, token) == .queued) }
        #expect(queue.count == 3)
        var order: [String] = []
        var waiters: [Int] = []
        while let flight = queue.next() {
            order.append(String(decoding: flight.token, as: UTF8.self))
            waiters.append(flight.waiters.count)
        }
        #expect(order == ["a", "b", "c"])
        #expect(waiters == [2, 2, 1])
        #expect(queue.isEmpty)
    }

    @Test func `the same text in another field is another token`() {
        let queue = Queue()
        _ = enter(queue, "a", .application)
        _ = enter(queue, "a", .person)
        #expect(queue.count == 2)
    }

    @Test func `one network's flood leaves places for others`() {
        let queue = Queue()
        for number in 0..<TokenQueue.placesPerNetwork { #expect(enter(queue, "f\(number)") == .queued) }
        #expect(enter(queue, "one more") == .shareSpent)
        #expect(enter(queue, "f0") == .queued)
        #expect(enter(queue, "good", from: 2) == .queued)
        _ = queue.next()
        #expect(enter(queue, "one more") == .queued)
    }

    @Test func `it never grows beyond its places`() {
        let queue = Queue()
        var networks: UInt32 = 0
        for number in 0..<TokenQueue.places {
            if number % TokenQueue.placesPerNetwork == 0 { networks += 1 }
            #expect(enter(queue, "t\(number)", from: networks) == .queued)
        }
        #expect(enter(queue, "late", from: networks + 1) == .full)
        #expect(enter(queue, "t0", from: networks + 1) == .queued)
    }

    @Test func `a token has no end of waiters either`() {
        let queue = Queue()
        for _ in 0..<TokenQueue.waitersPerToken { #expect(enter(queue, "a") == .queued) }
        #expect(enter(queue, "a") == .full)
    }

    @Test func `places are used again and again`() {
        let queue = Queue()
        for number in 0..<(3 * TokenQueue.places) {
            #expect(enter(queue, "t\(number)") == .queued)
            if number >= 50 { #expect(queue.next() != nil) }
        }
        #expect(queue.count == 50)
    }
}

@Suite struct CheckBudgetTests {
    private func at(_ microseconds: UInt64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: 1_000_000_000 + microseconds * 1_000)
    }

    @Test func `checks take a fifth of the time, whatever they cost`() {
        for cost: UInt64 in [10, 80, 700] {
            let budget = Budget()
            var now: UInt64 = 0
            var spent: UInt64 = 0
            // Ten seconds in which there is always another token to check.
            while now < 10_000_000 {
                if budget.mayCheck(at: at(now)) {
                    budget.spent(from: at(now), to: at(now + cost))
                    spent += cost
                    now += cost
                } else {
                    now += 50
                }
            }
            let share = Double(spent) / Double(now)
            #expect(share > 0.18 && share < 0.21, "\(cost): \(share)")
        }
    }

    @Test func `what was saved up is little`() {
        let budget = Budget()
        _ = budget.mayCheck(at: at(60_000_000))
        var now: UInt64 = 60_000_000
        while budget.mayCheck(at: at(now)) {
            budget.spent(from: at(now), to: at(now + 100))
            now += 100
        }
        #expect(now - 60_000_000 <= 2_600)
    }

    @Test func `a clock that goes back gives nothing and takes nothing`() {
        let budget = Budget()
        #expect(budget.mayCheck(at: at(1_000)))
        budget.spent(from: at(1_000), to: at(500))
        #expect(budget.mayCheck(at: at(0)))
    }
}

@Suite struct TokenParkingTests {
    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: UInt64((1_000 + seconds) * 1e9))
    }

    @Test func `the first unknown key of an issuer opens a while, then not until a fetch may happen again`() {
        let parking = Parking()
        #expect(parking.enter("acme", at: at(0)))
        #expect(parking.enter("acme", at: at(1.9)))
        #expect(!parking.enter("acme", at: at(2)))
        #expect(!parking.enter("acme", at: at(29.9)))
        #expect(parking.enter("globex", at: at(10)))
        #expect(parking.enter("acme", at: at(30)))
    }

    @Test func `few wait at a time`() {
        let parking = Parking()
        for _ in 0..<TokenParking.places { #expect(parking.enter("acme", at: at(0))) }
        #expect(!parking.enter("acme", at: at(0)))
        parking.leave()
        #expect(parking.enter("acme", at: at(0)))
    }

    @Test func `made-up keys of one network ask four times in ten minutes, and leave the rest to others`() {
        let parking = Parking()
        var turns: [Int] = []
        for second in 0..<600 where parking.step("acme", from: 1, at: at(Double(second))) != .refused {
            turns.append(second)
        }
        #expect(turns == Array(0..<120))
        // The first token of a rotation that somebody else brings is fetched for at once.
        #expect(parking.step("acme", from: 2, at: at(599)) == .waits)
        // Who changed keys is heard again when the issuer's timer has had its turn.
        #expect(parking.step("acme", from: 1, at: at(605)) == .asks)
        #expect(parking.step("acme", from: 1, at: at(630)) == .waits)
    }

    @Test func `other issuers are no way round it, and many networks need no more room`() {
        let parking = Parking()
        for turn in 0..<4 { #expect(parking.step("issuer-\(turn)", from: 1, at: at(Double(turn * 30))) == .waits) }
        #expect(parking.step("issuer-5", from: 1, at: at(120)) == .refused)
        for network in 2..<UInt32(3 * UnknownKeyAsks.networks) {
            #expect(parking.step("issuer-5", from: network, at: at(120 + Double(network) / 1_000)) != .refused)
            #expect(parking.inner.networks.count <= UnknownKeyAsks.networks)
        }
        #expect(parking.inner.networks.count > UnknownKeyAsks.networks / 4)
    }
}
