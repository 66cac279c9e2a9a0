// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Limits
import Testing
import Transport

@testable import Gateway

@Suite struct AddressRatesTests {
    let rate = FloodBudget(burst: 3, perSecond: 10)
    let network = ClientNetwork(ipv4: 1)
    static let second: UInt64 = 1_000_000_000

    private func spend(
        _ rates: inout AddressRates,
        _ count: Int,
        _ network: ClientNetwork,
        now: UInt64 = Self.second
    ) -> [Bool] {
        var answers: [Bool] = []
        for _ in 0..<count { answers.append(rates.spend(rate, network, now: now)) }
        return answers
    }

    @Test func `a burst passes and then the rate counts`() {
        var rates = AddressRates()
        let burst = spend(&rates, 4, network)
        let later = spend(&rates, 2, network, now: Self.second + Self.second / 10)
        #expect(burst == [true, true, true, false])
        #expect(later == [true, false])
    }

    @Test func `others are not touched`() {
        var rates = AddressRates()
        _ = spend(&rates, 9, network)
        let other = spend(&rates, 1, ClientNetwork(ipv4: 2))
        #expect(other == [true])
    }

    @Test func `what is given back can be spent again`() {
        var rates = AddressRates()
        _ = spend(&rates, 3, network)
        rates.refund(rate, network)
        let again = spend(&rates, 2, network)
        #expect(again == [true, false])
    }

    @Test func `the table is bounded and keeps those that spent most`() {
        var rates = AddressRates()
        _ = spend(&rates, 3, network)
        for other in 2..<UInt32(2 * AddressRates.networks) { _ = spend(&rates, 1, ClientNetwork(ipv4: other)) }
        let count = rates.count
        let worst = spend(&rates, 1, network)
        #expect(count <= AddressRates.networks)
        #expect(worst == [false])
    }
}

@Suite struct ConnectionAdmissionTests {
    let settings = ConnectionSettings(
        perWorker: 100,
        perClient: 100,
        requestsPerClient: 100,
        rate: FloodBudget(burst: 4, perSecond: 1),
        handshakes: FloodBudget(burst: 2, perSecond: 1),
        floods: FloodBudget(burst: 2, perSecond: 1),
        busyShare: .milliseconds(1),
        requests: 100
    )

    private func refusals(
        _ admission: inout ConnectionAdmission,
        _ count: Int,
        _ address: String,
        isTLS: Bool,
        isTrusted: Bool = false
    )
        throws -> [Defence?]
    {
        let address = try #require(IPAddress(parsing: address))
        var refusals: [Defence?] = []
        for _ in 0..<count {
            let now = MonotonicInstant(nanoseconds: 1_000_000_000)
            refusals.append(admission.refusal(address, isTLS: isTLS, isTrusted: isTrusted, settings, now: now))
        }
        return refusals
    }

    @Test func `connections and handshakes of one address are counted apart`() throws {
        var admission = ConnectionAdmission()
        let clear = try refusals(&admission, 5, "192.0.2.1", isTLS: false)
        let secure = try refusals(&admission, 5, "192.0.2.2", isTLS: true)
        let other = try refusals(&admission, 1, "192.0.2.3", isTLS: true)
        #expect(clear == [nil, nil, nil, nil, .connectionRate])
        #expect(secure == [nil, nil, .handshakeRate, .handshakeRate, .connectionRate])
        #expect(other == [nil])
    }

    @Test func `who was cut for floods too often gets no new connections until the budget refills`() throws {
        var admission = ConnectionAdmission()
        let flooder = try #require(IPAddress(parsing: "192.0.2.1"))
        let now = MonotonicInstant(nanoseconds: 1_000_000_000)
        admission.flooded(flooder, settings, now: now)
        let once = try refusals(&admission, 1, "192.0.2.1", isTLS: false)
        admission.flooded(flooder, settings, now: now)
        let twice = try refusals(&admission, 1, "192.0.2.1", isTLS: false)
        let trusted = try refusals(&admission, 1, "192.0.2.1", isTLS: false, isTrusted: true)
        let other = try refusals(&admission, 1, "192.0.2.2", isTLS: false)
        let later = now.advanced(by: .seconds(1))
        let refilled = admission.refusal(flooder, isTLS: false, isTrusted: false, settings, now: later)
        #expect(once == [nil])
        #expect(twice == [.floodsPerClient])
        #expect(trusted == [nil] && other == [nil])
        #expect(refilled == nil)
    }

    @Test func `IPv6 counts by 64 bits`() throws {
        var admission = ConnectionAdmission()
        let first = try refusals(&admission, 4, "2001:db8::1", isTLS: false)
        let neighbour = try refusals(&admission, 1, "2001:db8::ffff:2", isTLS: false)
        let stranger = try refusals(&admission, 1, "2001:db8:0:1::1", isTLS: false)
        #expect(first == [nil, nil, nil, nil])
        #expect(neighbour == [.connectionRate])
        #expect(stranger == [nil])
    }

    @Test func `one network has so many connections open, and the next one when one of them has ended`() throws {
        var admission = ConnectionAdmission()
        let few = ConnectionSettings(
            perWorker: 100,
            perClient: 2,
            requestsPerClient: 100,
            rate: FloodBudget(burst: 99, perSecond: 1),
            handshakes: FloodBudget(burst: 99, perSecond: 1),
            floods: FloodBudget(burst: 99, perSecond: 1),
            busyShare: .milliseconds(1),
            requests: 100
        )
        let now = MonotonicInstant(nanoseconds: 1_000_000_000)
        let addresses = try ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1"].map {
            try #require(IPAddress(parsing: $0))
        }
        var refusals: [Defence?] = []
        for address in addresses {
            let refusal = admission.refusal(address, isTLS: false, isTrusted: false, few, now: now)
            if refusal == nil { _ = admission.opened(address) }
            refusals.append(refusal)
        }
        #expect(refusals == [nil, nil, .connectionsPerClient, nil])
        let trusted = admission.refusal(addresses[2], isTLS: false, isTrusted: true, few, now: now)
        admission.closed(addresses[0])
        let after = admission.refusal(addresses[2], isTLS: false, isTrusted: false, few, now: now)
        #expect(trusted == nil)
        #expect(after == nil)
    }

    @Test func `a trusted balancer is not counted`() throws {
        var admission = ConnectionAdmission()
        let answers = try refusals(&admission, 9, "192.0.2.1", isTLS: true, isTrusted: true)
        #expect(answers.allSatisfy { $0 == nil })
    }

    @Test func `a resumed session pays no handshake`() throws {
        var admission = ConnectionAdmission()
        let address = try #require(IPAddress(parsing: "192.0.2.1"))
        var answers: [Defence?] = []
        for _ in 0..<4 {
            answers += try refusals(&admission, 1, "192.0.2.1", isTLS: true)
            admission.handshakeResumed(address, settings)
        }
        #expect(answers == [nil, nil, nil, nil])
    }
}

@Suite struct ProgressBudgetTests {
    static let times = TimeoutSettings(
        handshake: .seconds(1),
        header: .seconds(1),
        idle: .seconds(10),
        keepAlive: .seconds(1),
        leastRate: ByteCount(bytes: 100),
        patience: .seconds(30),
        drain: .seconds(1)
    )

    private func at(_ seconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: UInt64(seconds) * 1_000_000_000)
    }

    @Test func `silence ends after the idle time`() {
        var budget = ProgressBudget()
        #expect(budget.wait(from: at(100), Self.times) == at(110))
        #expect(budget.progressed(1, at: at(105), Self.times) >= at(115))
    }

    @Test func `trickling ends when patience does`() {
        var budget = ProgressBudget()
        var deadline = budget.wait(from: at(100), Self.times)
        var now = 100
        while deadline > at(now), now < 1_000 {
            now += 5
            deadline = budget.progressed(1, at: at(now), Self.times)
        }
        #expect((130...135).contains(now))
    }

    @Test func `a client at the least rate may take for ever`() {
        var budget = ProgressBudget()
        var deadline = budget.wait(from: at(100), Self.times)
        for now in stride(from: 105, to: 10_000, by: 5) {
            #expect(deadline > at(now))
            deadline = budget.progressed(500, at: at(now), Self.times)
        }
    }

    @Test func `our own time is not counted`() {
        var budget = ProgressBudget()
        for round in 0..<100 {
            let start = 1_000 * round
            _ = budget.wait(from: at(start), Self.times)
            budget.pause(at: at(start))
        }
        #expect(budget.wait(from: at(200_000), Self.times) == at(200_010))
    }

    @Test func `without a least rate progress extends for ever`() {
        var times = Self.times
        times.leastRate = ByteCount(bytes: 0)
        var budget = ProgressBudget()
        var deadline = budget.wait(from: at(0), times)
        for now in stride(from: 5, to: 10_000, by: 5) {
            #expect(deadline > at(now))
            deadline = budget.progressed(1, at: at(now), times)
        }
    }
}

@Suite struct DefenceNameTests {
    @Test func `every flood has a defence of the same name`() {
        for flood in HTTP2Flood.allCases { #expect(Defence(flood).rawValue == flood.rawValue) }
    }

    @Test func `every bad header of a balancer is named but the one that never came`() {
        for failure in ProxyFailure.allCases {
            #expect(Defence(failure)?.rawValue == (failure == .closedEarly ? nil : "proxy_\(failure.rawValue)"))
        }
    }
}

@Suite struct MemoryLevelTests {
    @Test(
        arguments: [
            (74, .calm), (75, .closesIdle), (84, .closesIdle), (85, .refusesConnections), (91, .refusesConnections),
            (92, .refusesRequests), (100, .refusesRequests), (300, .refusesRequests),
        ] as [(Int, MemoryGuard.Level)]
    )
    func `levels begin at hundredths of the budget`(hundredths: Int, level: MemoryGuard.Level) {
        #expect(MemoryGuard.Level.calm.next(at: hundredths << 20, of: 100 << 20) == level)
    }

    @Test(
        arguments: [
            (.closesIdle, 70, .closesIdle), (.closesIdle, 69, .calm), (.refusesConnections, 80, .refusesConnections),
            (.refusesConnections, 79, .closesIdle), (.refusesRequests, 87, .refusesRequests),
            (.refusesRequests, 86, .refusesConnections), (.refusesRequests, 10, .calm),
        ] as [(MemoryGuard.Level, Int, MemoryGuard.Level)]
    )
    func `a level is left five hundredths below its beginning`(
        from: MemoryGuard.Level,
        hundredths: Int,
        level: MemoryGuard.Level
    ) {
        #expect(from.next(at: hundredths << 20, of: 100 << 20) == level)
    }
}
