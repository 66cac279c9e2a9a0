// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Limits

@Suite struct WindowKeyTests {
    private let subject = WindowSubject(
        organization: "acme",
        app: "0123456789abcdef01234567",
        key: "key_abc",
        person: "alice",
        client: ClientNetwork(ipv4: 0x0a00_0001),
        route: "api"
    )

    private func key(_ per: [WindowDimension], _ subject: WindowSubject, window: Duration = .seconds(60)) -> String {
        var bytes: [UInt8] = []
        WindowKey.append(WindowRule(name: "r", per: per, limit: 1, window: window), for: subject, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a key begins with the tag of what it counts for`() {
        let app = "{0123456789abcdef01234567}:w:r:1000000"
        #expect(key([.app], subject) == app)
        #expect(key([.organization, .app], subject) == app)
        #expect(key([.key], subject) == app + ":k7=key_abc")
        #expect(key([.app, .client], subject) == app + ":c4=0a000001")
        #expect(key([.app, .person, .route], subject) == app + ":p5=alice:r3=api")
        #expect(key([.organization], subject) == "{org:acme}:w:r:1000000")
        #expect(key([.route, .client], subject) == "{route:api}:w:r:1000000:r3=api:c4=0a000001")
        #expect(key([.client], subject) == "{route:}:w:r:1000000:c4=0a000001")
    }

    @Test func `another window is another key`() {
        #expect(key([.app], subject) != key([.app], subject, window: .seconds(30)))
    }

    @Test func `a request without key or person is counted by its network there`() {
        var other = subject
        other.key = nil
        other.person = nil
        #expect(key([.key], other) == "{0123456789abcdef01234567}:w:r:1000000:c4=0a000001")
        #expect(key([.app, .person], other) == key([.key], other))
    }

    @Test func `no value of a client can look like two`() {
        var first = subject
        first.person = "a:c4=0a000001"
        var second = subject
        second.person = "a"
        #expect(key([.app, .person], first) != key([.app, .person, .client], second))
    }

    @Test func `an IPv6 client is counted by its 64 bits of network`() {
        let one = ClientNetwork(ipv6High: 0x2001_0db8_0000_0001, low: 1)
        let neighbour = ClientNetwork(ipv6High: 0x2001_0db8_0000_0001, low: .max)
        let other = ClientNetwork(ipv6High: 0x2001_0db8_0000_0002, low: 1)
        #expect(one == neighbour)
        #expect(one != other)
        var subject = subject
        subject.client = one
        #expect(key([.app, .client], subject).hasSuffix(":c6=20010db800000001"))
    }

    @Test func `an IPv4-mapped address is its IPv4 address`() {
        #expect(ClientNetwork(ipv6High: 0, low: 0xffff_0a00_0001) == ClientNetwork(ipv4: 0x0a00_0001))
        #expect(ClientNetwork(ipv6High: 0, low: 0x0a00_0001) != ClientNetwork(ipv4: 0x0a00_0001))
    }
}

@Suite struct WindowChargeTests {
    private let plain = WindowRule(name: "app", per: [.app], limit: 100, window: .seconds(60))
    private let shadow = WindowRule(name: "client", per: [.client], limit: 5, window: .seconds(10), isShadow: true)
    private let subject = WindowSubject(
        organization: "acme",
        app: "0123456789abcdef01234567",
        client: ClientNetwork(ipv4: 1),
        route: "api"
    )

    private func charge(_ verdicts: [WindowVerdict]) -> WindowCharge {
        let charge = WindowCharge()
        charge.add(plain, for: subject)
        charge.add(shadow, for: subject)
        for verdict in verdicts { charge.note(verdict) }
        return charge
    }

    private func state(of charge: WindowCharge) -> String {
        var bytes: [UInt8] = []
        RateLimitFields.appendState(of: charge, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a charge without an answer is not admitted`() {
        #expect(!charge([]).isAdmitted)
        #expect(charge([]).retryAfter == nil)
        #expect(state(of: charge([])) == "")
    }

    @Test func `a shadow rule without room refuses nothing and is not told`() {
        let charge = charge([
            WindowVerdict(isAdmitted: true, remaining: 50, resetMilliseconds: 29_001),
            WindowVerdict(isAdmitted: false, remaining: 0, resetMilliseconds: 5_000),
        ])
        #expect(charge.isAdmitted)
        #expect(charge.isRefusedInShadow)
        #expect(charge.retryAfter == nil)
        #expect(state(of: charge) == #""app";r=50;t=30"#)
    }

    @Test func `a rule without room refuses and says when to come again`() {
        let charge = charge([
            WindowVerdict(isAdmitted: false, remaining: 0, resetMilliseconds: 1_200),
            WindowVerdict(isAdmitted: true, remaining: 4, resetMilliseconds: 9_000),
        ])
        #expect(!charge.isAdmitted)
        #expect(!charge.isRefusedInShadow)
        #expect(charge.refusingRule?.name == "app")
        #expect(charge.retryAfter == 2)
        #expect(state(of: charge) == #""app";r=0;t=2"#)
    }

    @Test func `a policy names quota and window, escaped as a structured string`() {
        var bytes: [UInt8] = []
        let odd = WindowRule(name: "a\"b\\c\u{7}", per: [.app], limit: 7, window: .milliseconds(1_500))
        RateLimitFields.appendPolicy(of: [plain, shadow, odd], to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == #""app";q=100;w=60, "a\"b\\c";q=7;w=2"#)
    }

    @Test func `a reused charge starts empty`() {
        let charge = charge([WindowVerdict(isAdmitted: true, remaining: 1, resetMilliseconds: 1)])
        charge.removeAll()
        #expect(charge.entries.isEmpty)
        #expect(charge.keys.isEmpty)
        #expect(charge.verdicts.isEmpty)
    }
}
