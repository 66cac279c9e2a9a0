// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Verified tokens that a worker has seen: what they say that depends on no route, and which were no good.
///
/// A table of fixed size, four places a row, found by a keyed hash and compared in full. Everything that can change
/// (revocation, audience of the route, development mode) is judged again on every hit. A new generation, made when keys
/// or issuers change, forgets all. Isolated to one worker.
package struct TokenCache<Facts: Sendable>: ~Copyable {
    private struct Entry {
        var hash: UInt64
        var token: [UInt8]
        var outcome: Outcome
        var validUntil: Int64
        var generation: UInt32
    }

    /// What is remembered of a token.
    package enum Outcome: Sendable {
        case good(Facts)
        case bad(TokenFault)
    }

    private var entries: [Entry?]
    private let rowMask: Int
    private var generation: UInt32 = 0
    private var faultGeneration: UInt32 = 0
    private let key = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    private static var placesPerRow: Int { 4 }
    /// A bad token is remembered briefly: long enough for a client that retries, too short to fill the table.
    private static var badLife: Int64 { 10_000 }

    /// A table for about `capacity` tokens, rounded up to a power of two.
    package init(capacity: Int) {
        var rows = 1
        while rows * Self.placesPerRow < capacity { rows *= 2 }
        rowMask = rows - 1
        entries = Array(repeating: nil, count: rows * Self.placesPerRow)
    }

    /// What is known of the token at `now`; allocates nothing.
    package func outcome(for token: Span<UInt8>, now: Int64) -> Outcome? {
        let hash = hash(token)
        let row = Int(truncatingIfNeeded: hash) & rowMask
        for place in row * Self.placesPerRow..<(row + 1) * Self.placesPerRow {
            guard let entry = entries[place], entry.hash == hash, isPresent(entry),
                entry.validUntil > now, entry.token.span.equals(token)
            else { continue }
            return entry.outcome
        }
        return nil
    }

    /// Remembers a verified token until it runs out.
    package mutating func remember(_ token: Span<UInt8>, _ facts: Facts, until: Int64, now: Int64) {
        insert(token, .good(facts), until: until, now: now)
    }

    /// Remembers that a token is no good, in the place of another bad or dead one only: a flood of forged tokens
    /// pushes no good one out.
    package mutating func remember(_ token: Span<UInt8>, _ fault: TokenFault, now: Int64) {
        insert(token, .bad(fault), until: now + Self.badLife, now: now)
    }

    /// Forgets everything: keys or issuers have changed.
    package mutating func beginGeneration() {
        generation &+= 1
        faultGeneration &+= 1
    }

    /// Forgets which tokens were no good: a key or an issuer has been added.
    package mutating func forgetFaults() {
        faultGeneration &+= 1
    }

    private func isPresent(_ entry: borrowing Entry) -> Bool {
        entry.generation == (entry.outcome.isGood ? generation : faultGeneration)
    }

    private mutating func insert(_ token: Span<UInt8>, _ outcome: Outcome, until: Int64, now: Int64) {
        let hash = hash(token)
        let row = Int(truncatingIfNeeded: hash) & rowMask
        guard let place = place(in: row, hash: hash, isGood: outcome.isGood, now: now) else { return }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(token.count)
        for index in token.indices { bytes.append(token[index]) }
        entries[place] = Entry(
            hash: hash,
            token: bytes,
            outcome: outcome,
            validUntil: until,
            generation: outcome.isGood ? generation : faultGeneration
        )
    }

    /// The place of the same token, else a free or dead one, else a bad one, else (for good tokens) the soonest to end.
    private func place(in row: Int, hash: UInt64, isGood: Bool, now: Int64) -> Int? {
        var best: (place: Int, rank: Int64)?
        for place in row * Self.placesPerRow..<(row + 1) * Self.placesPerRow {
            let rank: Int64
            if let entry = entries[place] {
                if entry.hash == hash { return place }
                if !isPresent(entry) || entry.validUntil <= now {
                    rank = 0
                } else if !entry.outcome.isGood {
                    rank = 1
                } else {
                    if !isGood { continue }
                    rank = 2 + max(0, entry.validUntil)
                }
            } else {
                rank = 0
            }
            if rank < best?.rank ?? .max { best = (place, rank) }
        }
        return best?.place
    }

    /// A keyed multiply-and-fold over words: an outsider who does not know the key cannot aim at a row.
    private func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var state = key.0 ^ UInt64(truncatingIfNeeded: bytes.count)
        var index = 0
        while index + 8 <= bytes.count {
            state = Self.fold(state ^ Self.word(bytes, at: index), key.1 | 1)
            index += 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index += 1
        }
        return Self.fold(Self.fold(state ^ rest, key.1 | 1) ^ key.0, 0x9e37_79b9_7f4a_7c15)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    private static func word(_ bytes: Span<UInt8>, at index: Int) -> UInt64 {
        var word: UInt64 = 0
        for offset in 0..<8 { word |= UInt64(bytes[index + offset]) << UInt64(offset * 8) }
        return word
    }
}

extension TokenCache.Outcome {
    var isGood: Bool {
        switch self {
        case .good: true
        case .bad: false
        }
    }
}
