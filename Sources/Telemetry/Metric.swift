// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One declared metric: its name, kind, help and, for a histogram, its buckets.
package struct Metric: Sendable {
    /// What a metric measures and so how it is summed and reset.
    package enum Kind: UInt8, Sendable {
        /// Only rises; survives the worker that counted it.
        case counter = 1
        /// Goes up and down; set to zero when its worker dies.
        case gauge = 2
        /// Counts in buckets, with sum; survives the worker that counted it.
        case histogram = 3
    }

    package let name: String
    package let kind: Kind
    package let help: String
    /// Upper bounds in nanoseconds, ascending; empty unless a histogram.
    package let bounds: [UInt64]

    package static func counter(_ name: String, _ help: String) -> Metric {
        Metric(name: name, kind: .counter, help: help, bounds: [])
    }

    package static func gauge(_ name: String, _ help: String) -> Metric {
        Metric(name: name, kind: .gauge, help: help, bounds: [])
    }

    package static func histogram(_ name: String, _ help: String, bounds: [UInt64]) -> Metric {
        Metric(name: name, kind: .histogram, help: help, bounds: bounds)
    }

    /// The cells one series of this metric takes: a histogram has its buckets, one above all bounds, and the sum.
    package var cellCount: Int {
        kind == .histogram ? bounds.count + 2 : 1
    }

    /// Bounds for request times, 0.25 ms to 60 s: fine where a gateway lives, coarse where upstreams time out.
    package static let requestSeconds: [UInt64] = [
        250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 60_000_000_000,
    ]

    /// Bounds for turns of an event loop, 0.1 ms to 1 s: work of more than 1 ms belongs on a thread of its own.
    package static let turnSeconds: [UInt64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 50_000_000, 250_000_000, 1_000_000_000,
    ]

    /// The labels of the series that takes what a full slot cannot name.
    package static let overflowLabels = "overflow=\"_other\""

    /// `value` as it stands between the quotes of a label.
    package static func escapedLabel(_ value: String) -> String {
        var escaped = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
