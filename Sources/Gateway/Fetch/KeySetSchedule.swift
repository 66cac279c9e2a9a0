// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
package import Transport

/// When an issuer's key set is fetched: by a timer within bounds, and once for an unknown key with a pause of its own.
package struct KeySetSchedule: Sendable, Equatable {
    /// When the timer asks next.
    package private(set) var next: MonotonicInstant
    /// When a fetch for an unknown key is due; nil while nobody wants one.
    package private(set) var wanted: MonotonicInstant?
    private var lastWanted: MonotonicInstant?
    private var failures = 0

    /// Asked no more often than this, whatever `Cache-Control` says.
    package static let shortest = Duration.seconds(60)
    /// Asked at least this often: the last good set counts for a day, so twenty and more may fail.
    package static let longest = Duration.seconds(3_600)
    /// Used where `Cache-Control` says nothing.
    package static let usual = Duration.seconds(600)
    /// Between two fetches for unknown keys.
    package static let pause = Duration.seconds(30)

    /// A schedule that asks first at `instant`.
    package init(startingAt instant: MonotonicInstant) {
        next = instant
    }

    /// Whether the timer asks now.
    package func isDue(at now: MonotonicInstant) -> Bool { next <= now }

    /// Whether a fetch for an unknown key is due now.
    package func isWanted(at now: MonotonicInstant) -> Bool { wanted.map { $0 <= now } ?? false }

    /// Those whose turn it is now, in the order in which their fetches became due.
    package static func turns<Source>(
        of sources: [Source],
        at now: MonotonicInstant,
        by schedule: (Source) -> KeySetSchedule
    ) -> [Source] {
        sources.map { (source: $0, since: schedule($0).dueSince) }.filter { $0.since <= now }
            .sorted { $0.since < $1.since }.map(\.source)
    }

    /// When the earlier of the two fetches became due, or will.
    private var dueSince: MonotonicInstant { wanted.map { min($0, next) } ?? next }

    /// A token named an unknown key: a fetch is due now, or when the pause since the last such one has passed.
    package mutating func keyMissing(at now: MonotonicInstant) {
        guard wanted == nil else { return }
        let earliest = lastWanted?.advanced(by: Self.pause) ?? now
        wanted = max(now, earliest)
    }

    /// A fetch for an unknown key begins, here or on another node.
    package mutating func wantedFetchBegan(at now: MonotonicInstant) {
        wanted = nil
        lastWanted = now
    }

    /// Another set came meanwhile: nobody wants a fetch any more, and no turn is used up.
    package mutating func answered() {
        wanted = nil
    }

    /// A set was fetched or confirmed.
    package mutating func succeeded(at now: MonotonicInstant, cacheControl: String?) {
        failures = 0
        let age = RefreshSchedule.maximumAge(cacheControl).map { Duration.seconds(min($0, 86_400)) } ?? Self.usual
        next = now.advanced(by: min(max(age, Self.shortest), Self.longest))
    }

    /// No answer, or none that is a key set: again after ten seconds, then less and less often.
    package mutating func failed(at now: MonotonicInstant) {
        failures = min(failures + 1, 6)
        next = now.advanced(by: min(.seconds(5 << failures), .seconds(300)))
    }
}
