// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension AdminRoutes {
    /// What is promised of a thing that is revoked.
    nonisolated static let refusedFromNow = "it is refused from the next request on"

    /// Waits until a change is applied everywhere; `members` with how far it is, and a message that is true of it.
    ///
    /// The promise is what follows once every worker knows: it is added to the message then, and only
    /// then. Without a change the wait is for all that was changed before: the same may have been asked
    /// just now and be on its way still.
    func told(
        _ members: [(String, JSONValue)],
        _ sequence: Int?,
        promise: String? = nil
    ) async throws(AdminProblem) -> [(String, JSONValue)] {
        let state = try await registryCall { () async throws(RegistryError) in
            var last = sequence
            if last == nil { last = try await registry.sequence() }
            return try await registry.waitApplied(sequence: last ?? 0, timeout: ConfirmationWait.time)
        }
        return state.worded(members, promise: sequence == nil ? nil : promise)
            + [("changed", .bool(sequence != nil))] + state.members
    }
}

extension AdminRoutes {
    /// Whether a history tells of an event with this detail: what is gone from the record was there once.
    func tells(
        _ event: String,
        _ detail: String,
        _ value: String,
        in history: RecordID
    ) async throws(AdminProblem) -> Bool {
        let rows = try await registryCall { () async throws(RegistryError) in
            try await registry.history(app: history, event: event, limit: Self.rowsSearched)
        }
        return rows.elements.contains { $0.event.details[detail]?.string == value }
    }

    /// Revocations of one app that are searched for one that is asked again.
    private static let rowsSearched = 1_000
}

extension Confirmation {
    /// What an answer says of it.
    var members: [(String, JSONValue)] {
        switch self {
        case .confirmed:
            [("confirmed", .bool(true))]
        case .pending(let effectiveBy, let waitingFor):
            [
                ("confirmed", .bool(false)),
                ("effective_by", .string(InternetTime.text(seconds: effectiveBy / 1_000))),
                ("waiting_for", .texts(waitingFor)),
            ]
        }
    }

    /// What an answer adds that says nothing of a change in force everywhere.
    var pendingMembers: [(String, JSONValue)] {
        guard case .pending = self else { return [] }
        return members
    }

    /// The members of an answer, their message claiming no more than is so.
    func worded(_ members: [(String, JSONValue)], promise: String?) -> [(String, JSONValue)] {
        let rest =
            switch self {
            case .confirmed: promise.map { "; \($0)" } ?? ""
            case .pending: ", but not every worker has confirmed it yet"
            }
        return members.map { name, value in
            guard name == "message", let message = value.string else { return (name, value) }
            return (name, .string(message + rest))
        }
    }
}
