// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// What a connection found where this node's registry was.
package enum RegistryLoss: Sendable, Equatable {
    /// Redis holds no registry at all: a wiped volume, or somebody else's Redis.
    case missing
    /// Redis holds a registry whose name is gone: a part of the data was deleted, or not brought back.
    case unnamed
    /// Redis holds the registry of another gateway.
    case foreign(String)
}

/// Which registry this node belongs to: an empty or a foreign Redis is no registry without apps, but one that is lost.
///
/// Isolated to the Reactor. One for each process, asked by all its connections: each is usable only while Redis holds
/// the name that the registry was given at its birth, so that a lost registry is met as a Redis that is away.
@Reactor
package final class RegistryIdentity {
    /// What is there in place of our registry; nil while ours is there, or nothing was asked yet.
    package private(set) var loss: RegistryLoss?
    /// The name that this node remembers; nil: whatever is there is taken.
    private let remembered: @Reactor () -> String?
    /// The name that was found when a connection was made.
    private var present: String?

    /// The name in Redis: written once, never changed.
    static let key = RegistryScripts.tag + ":birth"

    package init(remembered: @escaping @Reactor () -> String?) {
        self.remembered = remembered
    }

    /// The name that Redis must hold; empty where any will do.
    var expected: String { present ?? remembered() ?? "" }

    /// What is asked to judge a connection: the name, and the number of the last change.
    static let question: [RedisArgument] = ["MGET", .text(key), .text(RegistryScripts.tag + ":sequence")]

    /// Whether a new connection, which answered the question so, leads to our registry.
    func isOurs(_ answer: RedisReply) -> Bool {
        let parts = answer.elements ?? []
        return isOurs(parts.first?.text, sequence: Int(parts.last?.integer ?? 0))
    }

    private func isOurs(_ found: String?, sequence: Int) -> Bool {
        let found = found ?? ""
        let expected = remembered() ?? ""
        guard expected.isEmpty || found == expected else { return lost(found, sequence) }
        present = found.isEmpty ? nil : found
        loss = nil
        return true
    }

    /// Whether the registry that a connection was made to is still the one behind it.
    package func isStillOurs(_ found: String?, sequence: Int) -> Bool {
        let found = found ?? ""
        if expected.isEmpty { present = found.isEmpty ? nil : found }
        return expected == found ? true : lost(found, sequence)
    }

    private func lost(_ found: String, _ sequence: Int) -> Bool {
        loss = !found.isEmpty ? .foreign(found) : sequence > 0 ? .unnamed : .missing
        // The next connection is judged by what this node remembers.
        present = nil
        return false
    }
}
