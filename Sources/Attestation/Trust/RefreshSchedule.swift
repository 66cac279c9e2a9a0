// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// When a document of the vendor is fetched again: the caching headers decide, within bounds of our own.
///
/// The last good copy stays in use however long the vendor is away; only its age is reported.
package struct RefreshSchedule: Sendable, Equatable {
    /// When to ask next.
    package private(set) var next: Moment
    /// What the server called the copy that we have.
    package private(set) var entityTag: String?
    private var failures = 0
    private let interval: Int64

    /// Asked no more often than this, in seconds, whatever the headers say.
    package static let shortest: Int64 = 15 * 60
    /// Asked at least this often, in seconds, whatever the headers say, unless told otherwise.
    package static let longest: Int64 = 24 * 3_600
    /// No interval is longer: the list would be stale.
    private static let mostInterval: Int64 = 7 * 24 * 3_600
    /// Used where the headers say nothing, in seconds.
    package static let usual: Int64 = 3_600

    /// A schedule that asks at once, and then at least every `interval` seconds.
    ///
    /// `entityTag` names the copy that was kept.
    package init(startingAt now: Moment, interval: Int64 = Self.longest, entityTag: String? = nil) {
        next = now
        self.interval = min(max(interval, Self.shortest), Self.mostInterval)
        self.entityTag = entityTag
    }

    /// The copy that we have is another one, which the server calls `entityTag`; nil where it never named it.
    package mutating func holds(_ entityTag: String?) {
        self.entityTag = entityTag
    }

    /// A copy was read, or the one we have was confirmed.
    package mutating func succeeded(at now: Moment, cacheControl: String?, entityTag: String?) {
        failures = 0
        self.entityTag = entityTag ?? self.entityTag
        let seconds = Self.maximumAge(cacheControl) ?? Self.usual
        next = now.adding(seconds: min(max(seconds, Self.shortest), interval))
    }

    /// No answer, or one that is no such document: asked again soon, then less and less often.
    package mutating func failed(at now: Moment) {
        failures += 1
        let seconds = Int64(60) << Int64(min(failures - 1, 6))
        next = now.adding(seconds: min(seconds, Self.usual))
    }

    /// The seconds of `max-age`; zero where the header forbids keeping.
    package static func maximumAge(_ header: String?) -> Int64? {
        guard let header else { return nil }
        var age: Int64?
        for part in header.split(separator: ",") {
            let directive = part.filter { $0 != " " && $0 != "\t" }.lowercased()
            if directive == "no-store" || directive == "no-cache" { return 0 }
            if directive.hasPrefix("max-age="), let seconds = Int64(directive.dropFirst(8)), seconds >= 0 {
                age = seconds
            }
        }
        return age
    }
}

extension Moment {
    /// The moment `seconds` later.
    package func adding(seconds: Int64) -> Moment {
        Moment(milliseconds: milliseconds + seconds * 1_000)
    }
}
