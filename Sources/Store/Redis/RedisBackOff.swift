// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// How long to wait before the next attempt: doubling, with jitter so that all workers do not knock at once.
struct RedisBackOff {
    private var failures = 0

    private static let first = Duration.milliseconds(20)
    /// An attempt costs next to nothing, and until one succeeds new apps are refused.
    private static let longest = Duration.milliseconds(500)

    mutating func succeeded() { failures = 0 }

    /// The pause after one more failure; `chance` lies in 0 ..< 1.
    mutating func failed(chance: Double) -> Duration {
        let pause = min(Self.longest, Self.first * (1 << min(failures, 10)))
        failures += 1
        return pause / 2 + pause / 2 * chance
    }
}
