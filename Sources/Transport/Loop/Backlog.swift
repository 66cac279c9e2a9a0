// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Work that is done a little in each turn, and so that it goes on, in each millisecond, while there is any.
///
/// Isolated to the Reactor. Each who has such work has one of its own; those of a loop take their turns one after another.
@Reactor
package final class Backlog {
    private let loop: EventLoop
    fileprivate private(set) var work: (@Reactor () -> Void)?

    package init(loop: EventLoop) {
        self.loop = loop
    }

    /// Whether there is work.
    package var isOn: Bool { work != nil }

    /// There is work now: `work` does a little of it at each call, within its own share of a turn, until `end`.
    package func begin(_ work: @escaping @Reactor () -> Void) {
        guard !isOn else { return }
        self.work = work
        loop.backlogs.append(self)
    }

    /// There is none left.
    package func end() {
        guard isOn else { return }
        work = nil
        loop.backlogs.removeAll { $0 === self }
    }
}

extension EventLoop {
    /// A turn of each; one that begins meanwhile has its first in the next turn.
    func workOnBacklogs() {
        for backlog in backlogs { backlog.work?() }
    }
}
