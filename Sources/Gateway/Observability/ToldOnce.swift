// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Lets a line of the process's log through once a minute for each subject: what requests cause must not fill it.
struct ToldOnce {
    private var dueAt: [String: MonotonicInstant] = [:]

    private static let interval = Duration.seconds(60)
    /// More subjects than a configuration has routes; beyond it all is due again.
    private static let mostSubjects = 1_024

    /// Whether `subject` may be told of now; it is then taken as told.
    mutating func isDue(_ subject: String, at now: MonotonicInstant) -> Bool {
        if let due = dueAt[subject], now < due { return false }
        if dueAt.count >= Self.mostSubjects { dueAt.removeAll() }
        dueAt[subject] = now.advanced(by: Self.interval)
        return true
    }
}
