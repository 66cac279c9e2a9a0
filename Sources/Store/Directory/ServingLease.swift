// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// Until when this worker may answer from what it remembers.
///
/// Isolated to the Reactor.
///
/// Written by the change feed, read by every cache whose content can be revoked.
@Reactor
package final class ServingLease {
    /// Boot-time clock, so that a suspended or stopped process finds it run out.
    ///
    /// Not private, since other modules could not inline `isValid` then.
    package private(set) var serveUntil = MonotonicInstant(nanoseconds: 0)
    private let loop: EventLoop

    package init(loop: EventLoop) {
        self.loop = loop
    }

    /// Whether caches may be used now.
    package var isValid: Bool {
        @inline(__always) get { loop.now < serveUntil }
    }

    func extend(to instant: MonotonicInstant) {
        serveUntil = max(serveUntil, instant)
    }

    /// Ends it at once: what is remembered may belong to another history of the store.
    func end() {
        serveUntil = MonotonicInstant(nanoseconds: 0)
    }
}
