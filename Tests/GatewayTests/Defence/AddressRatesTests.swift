// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Limits
import Testing

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
