// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a window counts by; several together count by their combination.
package enum WindowDimension: String, Sendable, Codable, CaseIterable {
    case organization, app, key, person, client, route
}

/// One configured limit: at most `limit` units in any interval of length `window`, for each combination of `per`.
///
/// An object, so that a request that is counted by it copies one reference.
package final class WindowRule: Sendable, Equatable {
    /// Shown in `RateLimit`; lower-case letters, digits, `-` and `_` by configuration.
    package let name: String
    package let per: [WindowDimension]
    package let limit: Int
    package let window: Duration
    /// How the window is cut.
    package let geometry: WindowGeometry
    /// What one request costs.
    package let cost: Int
    /// Counted and reported, never refused by.
    package let isShadow: Bool
    /// What the rule adds to the key of each of its windows.
    let keyPart: [UInt8]
    /// Its name as `RateLimit` spells it.
    let quotedName: [UInt8]

    /// A rule within `limits` and `windows`, whose `cost` is at most its limit; configuration checks before.
    package init(
        name: String,
        per: [WindowDimension],
        limit: Int,
        window: Duration,
        cost: Int = 1,
        isShadow: Bool = false
    ) {
        precondition(Self.limits.contains(limit), "a limit outside its range")
        precondition(Self.windows.contains(window), "a window outside its range")
        precondition(cost >= 1 && cost <= limit, "a cost outside its range")
        self.name = name
        self.per = per
        self.limit = limit
        self.window = window
        geometry = WindowGeometry(window: window)
        self.cost = cost
        self.isShadow = isShadow
        var part: [UInt8] = []
        part.append(utf8: ":w:\(name):")
        part.append(decimal: geometry.bucketMicroseconds)
        keyPart = part
        quotedName = RateLimitFields.quoted(name)
    }

    package static func == (left: WindowRule, right: WindowRule) -> Bool {
        left.name == right.name && left.per == right.per && left.limit == right.limit && left.window == right.window
            && left.cost == right.cost && left.isShadow == right.isShadow
    }

    /// The limits that the counter's four bytes and the configuration allow.
    package static let limits = 1...1_000_000_000
    /// The windows that are allowed: shorter ones are noise, longer ones are quotas.
    package static let windows = Duration.seconds(1)...Duration.seconds(31 * 86_400)
}

/// The sub-buckets of a window.
///
/// A window of length W is cut into `count` buckets; the bucket of now and the `count` before it are summed. With one
/// bucket fewer an interval of length W could hold up to 1.7 times the limit.
package struct WindowGeometry: Sendable, Equatable {
    /// The number of buckets in one window, n.
    package static let count = 60

    /// The length of one bucket in microseconds, rounded up so that `count` of them are never shorter than the window.
    package let bucketMicroseconds: Int64

    package init(window: Duration) {
        let (seconds, attoseconds) = window.components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        bucketMicroseconds = (microseconds + Int64(Self.count) - 1) / Int64(Self.count)
    }
}
