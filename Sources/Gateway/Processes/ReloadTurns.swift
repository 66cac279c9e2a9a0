// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Runs one reload at a time; all who ask meanwhile share the next, which begins after they asked.
///
/// Isolated to the Reactor.
@Reactor
final class ReloadTurns {
    /// Where a reload takes its text from.
    enum Source {
        /// The operator's file, because somebody asked.
        case file
        /// The text in force, because certificates that it names have changed.
        case accepted
    }

    private let reload: @Reactor (Source) async -> ReloadOutcome
    private var isRunning = false
    private var next = Source.accepted
    private var waiting: [CheckedContinuation<ReloadOutcome, Never>] = []

    /// `reload` does one reload.
    init(reload: @escaping @Reactor (Source) async -> ReloadOutcome) {
        self.reload = reload
    }

    /// The outcome of a reload that began after this call.
    func run(_ source: Source) async -> ReloadOutcome {
        guard isRunning else {
            isRunning = true
            let outcome = await reload(source)
            runNext()
            return outcome
        }
        // Once anybody wants the file, the shared one reads it.
        if source == .file { next = .file }
        return await withCheckedContinuation { waiting.append($0) }
    }

    private func runNext() {
        let (asked, source) = (waiting, next)
        waiting = []
        next = .accepted
        guard !asked.isEmpty else {
            isRunning = false
            return
        }
        Task { @Reactor in
            let outcome = await reload(source)
            for one in asked { one.resume(returning: outcome) }
            runNext()
        }
    }
}
