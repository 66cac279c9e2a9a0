// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// All windows of one request, spent together or not at all; reused from request to request.
///
/// Owned by an exchange. Fill it with `add`, hand it to the window store, read `verdicts` when that answers.
package final class WindowCharge {
    /// One window of the charge.
    package struct Entry: Sendable {
        package var rule: WindowRule
        /// Where the entry's key ends in `keys`.
        package var keyEnd: Int
    }

    package private(set) var entries: [Entry] = []
    /// The keys one after another.
    package private(set) var keys: [UInt8] = []
    /// One verdict for each entry, in order; empty until the store answered.
    package private(set) var verdicts: [WindowVerdict] = []
    /// More windows than this in one request are a configuration error.
    package static let capacity = 16

    package init() {}

    /// Forgets everything and keeps the allocations.
    package func removeAll() {
        guard !entries.isEmpty else { return }
        entries.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        verdicts.removeAll(keepingCapacity: true)
    }

    /// Adds the window of `rule` that `subject` falls into.
    package func add(_ rule: WindowRule, for subject: WindowSubject) {
        precondition(entries.count < Self.capacity, "more windows in one request than configuration allows")
        WindowKey.append(rule, for: subject, to: &keys)
        entries.append(Entry(rule: rule, keyEnd: keys.count))
    }

    /// Forgets earlier verdicts before new ones arrive.
    package func beginVerdicts() {
        verdicts.removeAll(keepingCapacity: true)
    }

    /// Notes the verdict of the next entry.
    package func note(_ verdict: WindowVerdict) {
        precondition(verdicts.count < entries.count, "more verdicts than windows")
        verdicts.append(verdict)
    }

    /// Whether every window that may refuse had room; false until the store answered.
    package var isAdmitted: Bool {
        guard verdicts.count == entries.count else { return false }
        for index in entries.indices where !verdicts[index].isAdmitted && !entries[index].rule.isShadow {
            return false
        }
        return true
    }

    /// Whole seconds after which the same call succeeds, as far as these windows go; nil: never, or it was admitted.
    package var retryAfter: Int? {
        var longest = 0
        for index in verdicts.indices where !verdicts[index].isAdmitted && !entries[index].rule.isShadow {
            guard verdicts[index].resetMilliseconds != nil else { return nil }
            longest = max(longest, verdicts[index].resetSeconds)
        }
        return longest == 0 ? nil : longest
    }

    /// The first rule without room that refuses, for the log and the refusal's reason.
    package var refusingRule: WindowRule? {
        for index in verdicts.indices where !verdicts[index].isAdmitted && !entries[index].rule.isShadow {
            return entries[index].rule
        }
        return nil
    }

    /// Whether a shadow rule would have refused, for metrics.
    package var isRefusedInShadow: Bool {
        for index in verdicts.indices where !verdicts[index].isAdmitted && entries[index].rule.isShadow {
            return true
        }
        return false
    }
}
