// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// How long a child has given no sign of life, from looks at the number of its signs.
///
/// Pure.
package struct ChildPulse: Sendable {
    package enum Standing: Sendable, Equatable {
        case well
        /// Nothing for a while: others do its work, and it may go on.
        case late
        /// Nothing for so long that it will not go on.
        case hung
    }

    /// For how long there was no sign, while the supervisor looked.
    package private(set) var silence = Duration.zero
    private var beats: UInt64

    /// Between two signs of life, and between two looks.
    package static let interval = Duration.seconds(1)
    /// Longer than any turn of a loop; new connections wait that long for a worker that hangs.
    private static let lateAfter = Duration.seconds(3)
    /// Far beyond a slow disk and a busy machine; below the 30 s for which known apps are served without Redis.
    private static let hungAfter = Duration.seconds(10)
    /// Before a child serves it reads files and certificates.
    private static let startsWithin = Duration.seconds(60)

    /// Whether it was heard at this look or the last, so that what it says of another child can be believed.
    package var tellsOfOthers: Bool { silence <= Self.interval * 2 && hasBeaten }
    private var hasBeaten = false

    package init(beats: UInt64 = 0) {
        self.beats = beats
    }

    /// Takes the number of signs so far, `elapsed` after the last look.
    package mutating func looked(at beats: UInt64, after elapsed: Duration, isStarting: Bool) -> Standing {
        guard beats == self.beats else {
            self.beats = beats
            silence = .zero
            hasBeaten = true
            return .well
        }
        // Where the supervisor itself did not run, the machine slept or everything was frozen: no child had its turn.
        silence += min(elapsed, Self.interval * 2)
        if isStarting { return silence < Self.startsWithin ? .well : .hung }
        return silence < Self.lateAfter ? .well : silence < Self.hungAfter ? .late : .hung
    }
}
