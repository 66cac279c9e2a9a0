// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// How many events of one kind a peer may cause: a burst, refilled at a steady rate.
///
/// Time comes in as nanoseconds of any clock that never goes back.
package struct FloodBudget: Sendable, Equatable {
    /// The most events at once.
    package let burst: Int
    /// The events a second that never run it dry.
    package let perSecond: Int
    /// When the budget would be whole again, in nanoseconds.
    package var wholeAt: UInt64 = 0

    /// A whole budget.
    package init(burst: Int, perSecond: Int) {
        precondition(burst > 0 && perSecond > 0 && perSecond <= 1_000_000_000, "a budget of nothing")
        self.burst = burst
        self.perSecond = perSecond
    }

    /// The nanoseconds that one event is worth.
    package var interval: UInt64 { 1_000_000_000 / UInt64(perSecond) }

    /// Takes one event; false when there is nothing left.
    package mutating func spend(now nanoseconds: UInt64) -> Bool {
        let next = max(wholeAt, nanoseconds) &+ interval
        guard next &- nanoseconds <= interval &* UInt64(burst) else { return false }
        wholeAt = next
        return true
    }
}

/// What a peer did too much of; the raw value is the word of the log line and the metric.
package enum HTTP2Flood: String, Error, Sendable, CaseIterable {
    /// Streams opened and reset (CVE-2023-44487).
    case resets = "http2_resets"
    /// Streams that made us reset them (CVE-2025-8671).
    case provokedResets = "http2_provoked_resets"
    /// SETTINGS frames.
    case settings = "http2_settings"
    /// PING frames.
    case pings = "http2_pings"
    /// WINDOW_UPDATE frames.
    case windowUpdates = "http2_window_updates"
    /// DATA frames that the peer's window cut small.
    case tinyWindows = "http2_tiny_windows"
    /// DATA, HEADERS and CONTINUATION frames without content.
    case emptyFrames = "http2_empty_frames"
    /// PRIORITY frames and those of unknown types.
    case otherFrames = "http2_other_frames"
    /// CONTINUATION frames of one header block.
    case continuations = "http2_continuations"
    /// Header blocks beyond what is kept, again and again.
    case largeHeaders = "http2_large_headers"
}

/// One budget for each kind of flood.
package struct HTTP2Budgets: Sendable, Equatable {
    /// A browser that leaves a page cancels up to all of its concurrent streams.
    package var resets = FloodBudget(burst: 200, perSecond: 50)
    /// An honest client provokes none.
    package var provokedResets = FloodBudget(burst: 20, perSecond: 2)
    /// One at the start, and a few when windows are tuned.
    package var settings = FloodBudget(burst: 20, perSecond: 1)
    /// gRPC probes the bandwidth with one ping a round trip.
    package var pings = FloodBudget(burst: 100, perSecond: 20)
    /// A fast download credits every few packets.
    package var windowUpdates = FloodBudget(burst: 20_000, perSecond: 10_000)
    /// An honest window lets a frame of some size pass; only its last bytes are few.
    package var tinyWindows = FloodBudget(burst: 200, perSecond: 20)
    /// Some clients end a body or begin a block with one.
    package var emptyFrames = FloodBudget(burst: 50, perSecond: 10)
    /// Old clients send one or two a stream.
    package var otherFrames = FloodBudget(burst: 1000, perSecond: 200)
    /// A few, by mistake.
    package var largeHeaders = FloodBudget(burst: 10, perSecond: 1)

    /// The budgets used unless configuration says otherwise.
    package init() {}

    /// For peers that are ours: beyond what any load makes them do, below what would hold the loop.
    package static let upstream: HTTP2Budgets = {
        var budgets = HTTP2Budgets()
        budgets.resets = FloodBudget(burst: 50_000, perSecond: 20_000)
        budgets.settings = FloodBudget(burst: 1000, perSecond: 200)
        budgets.pings = FloodBudget(burst: 10_000, perSecond: 2_000)
        budgets.windowUpdates = FloodBudget(burst: 200_000, perSecond: 100_000)
        // A slow reader gives back what it took in odd pieces: a large upload is full of them.
        budgets.tinyWindows = FloodBudget(burst: 20_000, perSecond: 10_000)
        budgets.emptyFrames = FloodBudget(burst: 20_000, perSecond: 10_000)
        return budgets
    }()
}
