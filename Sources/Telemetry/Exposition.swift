// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Sums the series of many slots and writes them as Prometheus text, in the order in which metrics are declared.
package struct Exposition {
    private let metrics: [Metric]
    private var sums: [String: [String: [UInt64]]] = [:]

    package init(metrics: [Metric]) {
        self.metrics = metrics
    }

    /// Adds what `slot` counted.
    package mutating func add(_ slot: MetricsSlot) {
        var sums = self.sums
        slot.forEachSeries { series in
            let present = sums[series.name]?[series.labels]
            guard var present, present.count == series.values.count else {
                if present == nil { sums[series.name, default: [:]][series.labels] = series.values }
                return
            }
            for index in present.indices { present[index] &+= series.values[index] }
            sums[series.name, default: [:]][series.labels] = present
        }
        self.sums = sums
    }

    /// The text format 0.0.4; a declared metric without series is left out.
    package func text() -> String {
        var text = ""
        for metric in metrics {
            guard let series = sums[metric.name], !series.isEmpty else { continue }
            text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(Self.word(metric.kind))\n"
            for labels in series.keys.sorted() {
                guard let values = series[labels], values.count == metric.cellCount else { continue }
                append(metric, labels, values, to: &text)
            }
        }
        return text
    }

    private func append(_ metric: Metric, _ labels: String, _ values: [UInt64], to text: inout String) {
        let braced = labels.isEmpty ? "" : "{\(labels)}"
        switch metric.kind {
        case .counter:
            text += "\(metric.name)\(braced) \(values[0])\n"
        case .gauge:
            text += "\(metric.name)\(braced) \(Int64(bitPattern: values[0]))\n"
        case .histogram:
            let comma = labels.isEmpty ? "" : ","
            var running: UInt64 = 0
            for (index, bound) in metric.bounds.enumerated() {
                running &+= values[index]
                text += "\(metric.name)_bucket{\(labels)\(comma)le=\"\(Self.seconds(bound))\"} \(running)\n"
            }
            running &+= values[metric.bounds.count]
            text += "\(metric.name)_bucket{\(labels)\(comma)le=\"+Inf\"} \(running)\n"
            text += "\(metric.name)_sum\(braced) \(Self.seconds(values[metric.bounds.count + 1]))\n"
            text += "\(metric.name)_count\(braced) \(running)\n"
        }
    }

    /// Nanoseconds as decimal seconds without a trailing zero.
    static func seconds(_ nanoseconds: UInt64) -> String {
        let whole = nanoseconds / 1_000_000_000
        var fraction = String(nanoseconds % 1_000_000_000 + 1_000_000_000).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return fraction.isEmpty ? "\(whole)" : "\(whole).\(fraction)"
    }

    private static func word(_ kind: Metric.Kind) -> String {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
