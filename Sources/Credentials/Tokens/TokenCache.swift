// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Verified tokens that a worker has seen: what they say that depends on no route, and which were no good.
///
/// A table of fixed size. Everything that can change (revocation, audience of the route, development mode) is judged
/// again on every hit. A new generation, made when keys or issuers change, forgets all. Isolated to one worker.
@usableFromInline
package struct TokenCache<Facts: Sendable>: ~Copyable {
    /// What is remembered of a token.
    @usableFromInline
    package enum Outcome: Sendable {
        case good(Facts)
        case bad(TokenFault)
    }

    @usableFromInline var table: TokenTable
    /// By the table's places; nil where a token was no good.
    @usableFromInline var facts: [Facts?]

    /// A bad token is remembered briefly: long enough for a client that retries, too short to fill the table.
    private static var badLife: Int64 { 10_000 }

    /// A table for about `capacity` tokens, rounded up to a power of two.
    package init(capacity: Int) {
        table = TokenTable(capacity: capacity)
        facts = Array(repeating: nil, count: table.placeCount)
    }

    /// What is known of the token at `now`; allocates nothing.
    @inlinable
    package func outcome(for token: Span<UInt8>, now: Int64) -> Outcome? {
        switch table.find(token, now: now) {
        case .good(let place): return facts[place].map { .good($0) }
        case .bad(let fault): return .bad(fault)
        case nil: return nil
        }
    }

    /// Remembers a verified token until it runs out.
    package mutating func remember(_ token: Span<UInt8>, _ facts: Facts, until: Int64, now: Int64) {
        guard let place = table.insert(token, nil, until: until, now: now) else { return }
        self.facts[place] = facts
    }

    /// Remembers that a token is no good, in the place of another bad or dead one only: a flood of forged tokens
    /// pushes no good one out.
    package mutating func remember(_ token: Span<UInt8>, _ fault: TokenFault, now: Int64) {
        guard let place = table.insert(token, fault, until: now + Self.badLife, now: now) else { return }
        facts[place] = nil
    }

    /// Forgets everything: keys or issuers have changed.
    package mutating func beginGeneration() { table.beginGeneration() }

    /// Forgets which tokens were no good: a key or an issuer has been added.
    package mutating func forgetFaults() { table.forgetFaults() }
}
