// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Limits

/// The window algorithm in Swift: what the script in Redis does, for tests to compare it with.
///
/// Times are microseconds of one clock. Between two calls the clock may stand still or go back; it then counts in the
/// newest bucket it has seen.
package struct SlidingWindow: Sendable {
    package let limit: Int
    package let geometry: WindowGeometry
    /// Non-empty buckets, oldest first.
    package private(set) var buckets: [(number: Int64, units: Int)] = []
    package private(set) var sum = 0

    package init(limit: Int, window: Duration) {
        self.limit = limit
        geometry = WindowGeometry(window: window)
    }

    /// The window's answer at `time`; units with room are counted if `commits`, that is, if no other window refuses.
    ///
    /// A refused call leaves no trace, as in Redis, where it writes nothing.
    package mutating func spend(_ cost: Int, at time: Int64, commits: Bool = true) -> WindowVerdict {
        var spent = self
        let verdict = spent.spending(cost, at: time, commits: commits)
        if verdict.isAdmitted, commits { self = spent }
        return verdict
    }

    private mutating func spending(_ cost: Int, at time: Int64, commits: Bool) -> WindowVerdict {
        let newest = max(geometry.bucket(at: time), buckets.last?.number ?? 0)
        forget(before: newest - Int64(WindowGeometry.count))
        guard sum + cost <= limit else {
            return WindowVerdict(
                isAdmitted: false,
                remaining: max(0, limit - sum),
                resetMilliseconds: wait(for: cost, at: time)
            )
        }
        if commits { add(cost, to: newest) }
        let oldest = buckets.first?.number ?? newest
        return WindowVerdict(
            isAdmitted: true,
            remaining: limit - sum,
            resetMilliseconds: milliseconds(from: time, to: geometry.end(of: oldest))
        )
    }

    private mutating func forget(before first: Int64) {
        while let oldest = buckets.first, oldest.number < first {
            sum -= oldest.units
            buckets.removeFirst()
        }
    }

    private mutating func add(_ cost: Int, to bucket: Int64) {
        if let last = buckets.indices.last, buckets[last].number == bucket {
            buckets[last].units += cost
        } else {
            buckets.append((bucket, cost))
        }
        sum += cost
    }

    /// How long until enough of the oldest buckets have left for `cost` to fit.
    private func wait(for cost: Int, at time: Int64) -> Int64? {
        var excess = sum + cost - limit
        for bucket in buckets {
            excess -= bucket.units
            if excess <= 0 { return milliseconds(from: time, to: geometry.end(of: bucket.number)) }
        }
        return nil
    }

    private func milliseconds(from: Int64, to: Int64) -> Int64 { (to - from + 999) / 1000 }
}

extension WindowGeometry {
    /// The bucket that `time` falls into.
    fileprivate func bucket(at time: Int64) -> Int64 { time / bucketMicroseconds }

    /// When units spent in `bucket` are no longer counted.
    fileprivate func end(of bucket: Int64) -> Int64 { (bucket + Int64(Self.count) + 1) * bucketMicroseconds }
}
