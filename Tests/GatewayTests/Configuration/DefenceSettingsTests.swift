// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing
import Transport

@testable import Gateway

@Suite struct DefenceSettingsTests {
    private func load(_ section: String) throws -> Configuration {
        try ConfigurationTests.load(section + "\n" + ConfigurationTests.good)
    }

    @Test func `what is left out has its standard value`() throws {
        let configuration = try load("")
        #expect(configuration.http2 == HTTP2Settings())
        #expect(configuration.memory.perWorker == nil)
        #expect(configuration.connections.rate == FloodBudget(burst: 2_000, perSecond: 500))
        #expect(configuration.timeouts.leastRate == ByteCount(bytes: 256))
        #expect(configuration.listeners[0].proxyProtocol == nil)
    }

    @Test func `each budget of HTTP2 is set by its own key`() throws {
        let keys: [(String, KeyPath<HTTP2Budgets, FloodBudget>)] = [
            ("resets", \.resets), ("provoked_resets", \.provokedResets), ("settings", \.settings), ("pings", \.pings),
            ("window_updates", \.windowUpdates), ("tiny_windows", \.tinyWindows), ("empty_frames", \.emptyFrames),
            ("other_frames", \.otherFrames), ("large_headers", \.largeHeaders),
        ]
        for (key, place) in keys {
            let budgets = try load("http2: { \(key): 7 + 3/s }").http2.budgets
            #expect(budgets[keyPath: place] == FloodBudget(burst: 7, perSecond: 3), "\(key)")
            for (other, otherPlace) in keys where other != key {
                #expect(budgets[keyPath: otherPlace] == HTTP2Budgets()[keyPath: otherPlace], "\(key) and \(other)")
            }
        }
    }

    @Test func `the other settings of HTTP2 are taken`() throws {
        let settings = try load(
            "http2: { streams: 7, stream_window: 128KiB, connection_window: 512KiB, continuations: 3, ping: 9s }"
        ).http2
        #expect(settings.concurrentStreams == 7)
        #expect(settings.streamWindow == 128 << 10)
        #expect(settings.connectionWindow == 512 << 10)
        #expect(settings.continuations == 3)
        #expect(settings.ping == 9_000_000_000)
    }

    @Test func `rates, patience and memory are taken`() throws {
        let configuration = try load(
            """
            connections: { rate: 5+1/s, handshakes: 3 + 2/s, floods: 4+2/s, requests_per_client: 9, busy_share: 250us }
            timeouts: { least_rate: 1KiB, patience: 9s }
            memory: { per_worker: 64MiB }
            """
        )
        #expect(configuration.connections.rate == FloodBudget(burst: 5, perSecond: 1))
        #expect(configuration.connections.floods == FloodBudget(burst: 4, perSecond: 2))
        #expect(configuration.connections.requestsPerClient == 9)
        #expect(configuration.connections.busyShare == .microseconds(250))
        #expect(configuration.connections.handshakes == FloodBudget(burst: 3, perSecond: 2))
        #expect(configuration.timeouts.leastRate == .kibibytes(1))
        #expect(configuration.timeouts.patience == .seconds(9))
        #expect(configuration.memory.perWorker == .mebibytes(64))
        #expect(try load("memory: { per_worker: auto }").memory.perWorker == nil)
    }

    @Test func `balancers are listed for a listener`() throws {
        let text = ConfigurationTests.good.replacing(
            "address: 127.0.0.1:8443\n",
            with: "address: 127.0.0.1:8443\n    proxy_protocol: { from: [10.0.0.0/8], required: false }\n"
        )
        let settings = try #require(try ConfigurationTests.load(text).listeners[0].proxyProtocol)
        #expect(settings.sources == [AddressRange(parsing: "10.0.0.0/8")])
        #expect(!settings.isRequired)
        #expect(
            try ConfigurationTests.load(text.replacing(", required: false", with: "")).listeners[0].proxyProtocol?
                .isRequired == true
        )
        for (wrong, word) in [("{}", "missing"), ("{ from: [] }", "at least 1"), ("{ from: [any] }", "address range")] {
            let problems = ConfigurationTests.problems(
                text.replacing("{ from: [10.0.0.0/8], required: false }", with: wrong)
            )
            #expect(problems.contains { $0.expectation.contains(word) }, "\(wrong)")
        }
    }

    @Test(arguments: [
        ("http2: { resets: 50 }", "200 + 50/s"), ("http2: { resets: 0 + 5/s }", "200 + 50/s"),
        ("http2: { resets: 5 + 0/s }", "200 + 50/s"), ("http2: { resets: 5 + 5 }", "200 + 50/s"),
        ("http2: { resets: 99999999 + 5/s }", "200 + 50/s"), ("http2: { resets: -5 + 5/s }", "200 + 50/s"),
        ("http2: { streams: 0 }", "from 1"), ("http2: { stream_window: 2MiB }", "no effect"),
        ("http2: { reset: 1 + 1/s }", "unknown key"), ("connections: { rate: fast }", "200 + 50/s"),
        ("memory: { per_worker: 1MiB }", "from 32MiB"), ("timeouts: { patience: 0s }", "a duration"),
    ])
    func `a wrong value is refused`(section: String, word: String) {
        let problems = ConfigurationTests.problems(section + "\n" + ConfigurationTests.good)
        #expect(problems.contains { $0.expectation.contains(word) }, "\(ConfigurationProblems(problems))")
    }
}
