// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why the store gave no answer; every case means: do not admit on the strength of this call.
package enum StoreError: Error, Sendable {
    /// There is no connection; nothing was sent.
    case unavailable
    /// The connection broke or the deadline passed after the call was sent: it may have been carried out or not.
    case deadline
    /// Redis answered with an error; its text.
    case refused(String)
    /// The answer was not what the protocol or the script promises.
    case malformed(String)
}

extension StoreError: Equatable {
    /// Equality of kind; prose does not count.
    package static func == (left: StoreError, right: StoreError) -> Bool {
        switch (left, right) {
        case (.unavailable, .unavailable), (.deadline, .deadline), (.refused, .refused), (.malformed, .malformed): true
        case (.unavailable, _), (.deadline, _), (.refused, _), (.malformed, _): false
        }
    }
}

extension StoreError: CustomStringConvertible {
    /// For logs; names no secret, since what Redis repeats of a command's arguments is left out.
    package var description: String {
        switch self {
        case .unavailable: "the store cannot be reached"
        case .deadline: "the store did not answer in time"
        case .refused where isOfCluster: RedisRequirements.Problem.cluster.description
        case .refused(let reason): "the store refused: \(Self.withoutArguments(reason))"
        case .malformed(let reason): "the store's answer is malformed: \(reason)"
        }
    }

    /// Redis quotes what it was sent: "unknown command 'x', with args beginning with: …", "unknown subcommand 'y'".
    private static func withoutArguments(_ reason: String) -> String {
        let told = reason.prefix { !["'", "\"", "`", "\r", "\n"].contains($0) }
        return told.count == reason.count ? reason : String(told) + "…"
    }
}
