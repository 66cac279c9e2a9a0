// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The settings that a running gateway cannot change: a reload that would is refused, so that no setting is read and
/// then ignored.
enum RestartOnly {
    /// One sentence for each such difference.
    static func changes(from old: Configuration, to new: Configuration) -> [String] {
        var changes: [String] = []
        func compare<Value: Equatable>(_ name: String, _ old: Value, _ new: Value) {
            if old != new {
                changes.append("\(name) changed; this takes effect only with a restart, so nothing was changed")
            }
        }
        compare("workers", old.workers, new.workers)
        compare("user", old.user, new.user)
        compare("listeners (addresses)", old.listeners.map(\.address), new.listeners.map(\.address))
        compare("admin", old.admin, new.admin)
        compare("metrics", old.metrics, new.metrics)
        compare("state.redis", old.state.redis, new.state.redis)
        compare("state.directory", old.state.directory, new.state.directory)
        compare("state.serve_stale", old.state.serveStale, new.state.serveStale)
        compare("state.deadline", old.state.deadline, new.state.deadline)
        compare("timeouts.drain", old.timeouts.drain, new.timeouts.drain)
        compare("log.level", old.log.level, new.log.level)
        compare("secrets.pepper", old.secrets.pepper, new.secrets.pepper)
        compare("secrets.seal", old.secrets.seal, new.secrets.seal)
        return changes
    }
}
