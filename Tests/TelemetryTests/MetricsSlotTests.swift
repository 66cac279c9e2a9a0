// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Testing

@Suite struct MetricsSlotTests {
    private static let requests = Metric.counter("requests_total", "Requests.")
    private static let open = Metric.gauge("open", "Open connections.")
    private static let times = Metric.histogram("seconds", "Times.", bounds: [1_000_000, 10_000_000])

    @Test func `a counter of the same labels is the same cell`() throws {
        let slot = try MetricsSlot()
        slot.counter(Self.requests, "route=\"a\"").increment()
        slot.counter(Self.requests, "route=\"a\"").increment(by: 2)
        #expect(slot.counter(Self.requests, "route=\"a\"").value == 3)
        #expect(slot.counter(Self.requests, "route=\"b\"").value == 0)
    }

    @Test func `a successor counts on where its predecessor died`() throws {
        let path = temporaryPath()
        defer { _ = unsafe unlink(path) }
        try MetricsSlot(path: path).counter(Self.requests).increment(by: 41)
        let successor = try MetricsSlot(path: path)
        successor.counter(Self.requests).increment()
        #expect(successor.counter(Self.requests).value == 42)
        #expect(successor.seriesCount == 1)
    }

    @Test func `a beat of the writer is seen by others, and zeroing gauges makes none`() throws {
        let path = temporaryPath()
        defer { _ = unsafe unlink(path) }
        let writer = try MetricsSlot(path: path)
        let reader = try MetricsSlot(path: path)
        let before = reader.beats
        reader.zeroGauges()
        writer.counter(Self.requests).increment()
        #expect(reader.beats == before)
        writer.beat()
        writer.beat()
        #expect(reader.beats == before + 2)
        #expect(try MetricsSlot(path: path).beats == before + 2, "a successor beats on")
    }

    @Test func `only gauges are set to zero`() throws {
        let slot = try MetricsSlot()
        slot.gauge(Self.open).add(5)
        slot.counter(Self.requests).increment()
        slot.zeroGauges()
        #expect(slot.gauge(Self.open).value == 0)
        #expect(slot.counter(Self.requests).value == 1)
    }

    @Test func `a gauge may be negative`() throws {
        let slot = try MetricsSlot()
        slot.gauge(Self.open).add(-2)
        #expect(slot.gauge(Self.open).value == -2)
    }

    @Test func `a full slot counts under overflow and never stops`() throws {
        let slot = try MetricsSlot()
        for number in 0..<(MetricsSlot.seriesLimit + 100) {
            slot.counter(Self.requests, "n=\"\(number)\"").increment()
        }
        #expect(slot.seriesCount < MetricsSlot.seriesLimit)
        #expect(slot.counter(Self.requests, Metric.overflowLabels).value > 100)
    }

    @Test func `a file of another layout starts from zero`() throws {
        let path = temporaryPath()
        defer { _ = unsafe unlink(path) }
        overwrite(path, at: 0, with: Array("not a slot at all".utf8))
        let slot = try MetricsSlot(path: path)
        #expect(slot.seriesCount == 0)
        slot.counter(Self.requests).increment()
        #expect(slot.counter(Self.requests).value == 1)
    }

    @Test func `a damaged directory gives numbers and no trap`() throws {
        let path = temporaryPath()
        defer { _ = unsafe unlink(path) }
        try MetricsSlot(path: path).counter(Self.requests).increment()
        overwrite(path, at: 8, with: [UInt8](repeating: 0xFF, count: 5000))
        let slot = try MetricsSlot(path: path)
        var count = 0
        slot.forEachSeries { _ in count += 1 }
        #expect(count <= MetricsSlot.seriesLimit)
    }

    @Test func `the exposition sums over slots`() throws {
        let (first, second) = (try MetricsSlot(), try MetricsSlot())
        first.counter(Self.requests, "route=\"a\"").increment(by: 2)
        second.counter(Self.requests, "route=\"a\"").increment(by: 3)
        second.gauge(Self.open).set(7)
        first.histogram(Self.times).record(nanoseconds: 500_000)
        second.histogram(Self.times).record(nanoseconds: 10_000_001)
        var exposition = Exposition(metrics: [Self.requests, Self.open, Self.times])
        exposition.add(first)
        exposition.add(second)
        let expected = """
            # HELP requests_total Requests.
            # TYPE requests_total counter
            requests_total{route="a"} 5
            # HELP open Open connections.
            # TYPE open gauge
            open 7
            # HELP seconds Times.
            # TYPE seconds histogram
            seconds_bucket{le="0.001"} 1
            seconds_bucket{le="0.01"} 1
            seconds_bucket{le="+Inf"} 2
            seconds_sum 0.010500001
            seconds_count 2

            """
        #expect(exposition.text() == expected)
    }

    private func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) {
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT, 0o600)
        let written = unsafe pwrite(descriptor, bytes, bytes.count, offset)
        #expect(written == bytes.count)
        close(descriptor)
    }

    private func temporaryPath() -> String {
        "/tmp/sallyport-slot-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
    }
}
