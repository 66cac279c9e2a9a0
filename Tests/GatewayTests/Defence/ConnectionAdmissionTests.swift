// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing
import Transport

@testable import Gateway

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
