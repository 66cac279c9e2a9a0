// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Glibc
import Telemetry
import Testing
import Transport

@testable import Gateway

@Suite struct AccessLogTests {
    private func lines(_ fill: (AccessLog) -> Void) throws -> [String] {
        let path = "/tmp/sallyport-access-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        defer { _ = unsafe unlink(path) }
        let slot = try MetricsSlot()
        let log = AccessLog(sink: try LogSink(.file(path)), dropped: slot.counter(GatewayMetrics.logDropped))
        fill(log)
        log.flush()
        guard case .success(let bytes) = Files.read(path) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func entry() -> AccessEntry {
        var entry = AccessEntry(decisionID: DecisionID(process: 0xABCD, number: 7))
        entry.timeMicroseconds = 1_789_643_937_042_001
        entry.outcome = .refused
        entry.reason = "origin_not_allowed"
        entry.app = Array(",\"organization\":\"acme\",\"app\":\"app_x\"".utf8)
        entry.route = JSONLine.member(AccessEntry.routeMember, "a \"route\"")
        entry.client = "2001:db8::1"
        entry.status = 403
        entry.totalMicroseconds = 1_500_042
        return entry
    }

    @Test func `a line is one JSON object with the fields of the request`() throws {
        let lines = try lines { $0.record(entry(), requestID: [1, 2].span, method: Array("GET".utf8).span) }
        #expect(lines.count == 1)
        let value = try JSONValue(parsing: lines[0])
        #expect(value["ts"]?.string == "2026-09-17T11:18:57.042001Z")
        #expect(value["id"]?.string == "0000abcd0000000007")
        #expect(value["decision"]?.string == "refused")
        #expect(value["reason"]?.string == "origin_not_allowed")
        #expect(value["organization"]?.string == "acme")
        #expect(value["app"]?.string == "app_x")
        #expect(value["route"]?.string == "a \"route\"")
        #expect(value["status"]?.integer == 403)
        #expect(try value["time"] == number("1.500042"))
        #expect(value["upstream"] == nil)
        #expect(value["request_id"]?.string == "\u{1}\u{2}")
    }

    @Test func `whatever a client sends the line stays one JSON object`() throws {
        let hostile = Array("\"}\n{\"\\\u{7F}".utf8) + [0x80, 0xFF, 0]
        let lines = try lines { $0.record(entry(), requestID: hostile.span, method: hostile.span) }
        #expect(lines.count == 1)
        #expect(try JSONValue(parsing: lines[0])["request_id"]?.string?.hasPrefix("\"}\n{\"\\\u{7F}") == true)
    }

    @Test func `no client makes a line longer than a pipe takes in one piece`() throws {
        let long = [UInt8](repeating: 0xFF, count: 8_000)
        let lines = try lines { $0.record(entry(), requestID: long.span, method: long.span) }
        #expect(lines.count == 1 && lines[0].utf8.count < 4_096)
        let value = try JSONValue(parsing: lines[0])
        #expect(value["method"]?.string?.count == 64)
        #expect(value["request_id"]?.string?.count == 128)
    }

    @Test func `an issuer that names its key as it likes writes no line of its own`() throws {
        var entry = entry()
        entry.keyID = "k\"}\n{\"decision\":\"admitted"
        let named = entry
        let method = Array("GET".utf8)
        let lines = try lines { $0.record(named, requestID: method.span, method: method.span) }
        #expect(lines.count == 1)
        #expect(try JSONValue(parsing: lines[0])["key_id"]?.string == entry.keyID)
    }

    @Test func `every byte survives at every place of a text`() throws {
        let lines = try lines { log in
            for byte in UInt8(0)...127 {
                for place in 0..<19 {
                    var text = [UInt8](repeating: UInt8(ascii: "~"), count: 19)
                    text[place] = byte
                    log.record(entry(), requestID: text.span, method: Span())
                }
            }
        }
        #expect(lines.count == 128 * 19)
        for (index, line) in lines.enumerated() {
            var expected = [Character](repeating: "~", count: 19)
            expected[index % 19] = Character(Unicode.Scalar(UInt8(index / 19)))
            #expect(try JSONValue(parsing: line)["request_id"]?.string == String(expected))
        }
    }

    @Test func `lines are written in order and only at the flush`() throws {
        let lines = try lines { log in
            for status in 200..<700 {
                var entry = entry()
                entry.status = status
                log.record(entry, requestID: Span(), method: Span())
            }
        }
        #expect(lines.count == 500)
        #expect(try JSONValue(parsing: lines[499])["status"]?.integer == 699)
    }

    @Test func `a line alone is written at once, and lines in a row wait for each other a moment`() throws {
        let lines = try lines { log in
            let start = MonotonicInstant(nanoseconds: 1_000_000_000)
            log.record(entry(), requestID: Span(), method: Span())
            let waitsAlone = log.turnEnded(at: start)
            #expect(!waitsAlone)
            #expect(!log.hasBacklog)
            log.record(entry(), requestID: Span(), method: Span())
            let waits = log.turnEnded(at: start.advanced(by: .milliseconds(9)))
            #expect(waits)
            #expect(log.hasBacklog)
            let waitsLonger = log.turnEnded(at: start.advanced(by: .milliseconds(10)))
            #expect(!waitsLonger)
            #expect(!log.hasBacklog)
        }
        #expect(lines.count == 2)
    }

    private func number(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: text)
    }
}

@Suite struct RouteMetricsTests {
    @Test func `a request is counted under route, outcome and code class`() throws {
        let slot = try MetricsSlot()
        let metrics = RouteMetrics(route: "a\"b", slot: slot)
        metrics.count(.refused, status: 403)
        metrics.count(.refused, status: 999)
        var counted: [String: UInt64] = [:]
        slot.forEachSeries { series in
            if series.kind == .counter, series.values[0] > 0 { counted[series.labels] = series.values[0] }
        }
        #expect(
            counted == [
                #"route="a\"b",outcome="refused",code="4xx""#: 1, #"route="a\"b",outcome="refused",code="5xx""#: 1,
            ]
        )
    }

    private static func app(_ id: String) throws -> App {
        try App(
            compiling: AppRecord(
                recordID: RecordID(rawValue: "65f0c0ffee65f0c0ffee65f0"),
                appID: AppID(rawValue: id),
                username: "web",
                organization: OrganizationID(rawValue: "acme"),
                name: "Web",
                createdAt: 0,
                dialects: [.offlineid]
            )
        )
    }

    @Test func `apps beyond the label limit are counted together`() throws {
        let slot = try MetricsSlot()
        let metrics = WorkerMetrics(slot: slot)
        for number in 0..<(WorkerMetrics.appLimit + 10) {
            let app = try Self.app("app_\(number)")
            metrics.app(app).count(.admitted)
            #expect(metrics.app(app) === metrics.app(try Self.app("app_\(number)")))
        }
        let labels = #"organization="_other",app="_other",outcome="admitted""#
        #expect(slot.counter(GatewayMetrics.appRequests, labels).value == 10)
    }
}
