// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// Where the tokens of a cache stand, four places a row, found by a keyed hash and compared in full.
///
/// Knows nothing of what is remembered of them, so that a look-up is plain code for every kind of
/// cache. Isolated to one worker.
@usableFromInline
struct TokenTable: ~Copyable {
    private struct Entry {
        var token: [UInt8] = []
        var validUntil = Int64.min
        var generation: UInt32 = 0
        /// nil: the token was good.
        var fault: TokenFault?
    }

    /// What is remembered of a token.
    @usableFromInline
    enum Finding {
        case good(place: Int)
        case bad(TokenFault)
    }

    /// Beside the entries, so that a row is one look at the memory; 0 is free.
    private var hashes: [UInt64]
    private var entries: [Entry]
    private let rowMask: Int
    private var generation: UInt32 = 0
    private var faultGeneration: UInt32 = 0
    private let key = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max) | 1)

    private static let placesPerRow = 4

    /// A table for about `capacity` tokens, rounded up to a power of two.
    init(capacity: Int) {
        var rows = 1
        while rows * Self.placesPerRow < capacity { rows *= 2 }
        rowMask = rows - 1
        hashes = Array(repeating: 0, count: rows * Self.placesPerRow)
        entries = Array(repeating: Entry(), count: rows * Self.placesPerRow)
    }

    var placeCount: Int { entries.count }

    /// What is remembered of a token and still counts at `now`; allocates nothing.
    @usableFromInline
    func find(_ token: Span<UInt8>, now: Int64) -> Finding? {
        let hash = hash(token)
        // Borrowed, so that looking at a place counts no reference.
        let (hashes, entries) = (hashes.span, entries.span)
        var place = row(of: hash)
        let end = place &+ Self.placesPerRow
        while place < end {
            if hashes[place] == hash, isPresent(place, now: now) {
                if entries[place].token.span.holdsSameBytes(as: token) {
                    return entries[place].fault.map { .bad($0) } ?? .good(place: place)
                }
            }
            place &+= 1
        }
        return nil
    }

    /// Gives a token a place; nil where there is none for one that is no good.
    mutating func insert(_ token: Span<UInt8>, _ fault: TokenFault?, until: Int64, now: Int64) -> Int? {
        let hash = hash(token)
        guard let place = place(for: hash, isGood: fault == nil, now: now) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(token.count)
        for index in token.indices { bytes.append(token[index]) }
        hashes[place] = hash
        entries[place] = Entry(
            token: bytes,
            validUntil: until,
            generation: fault == nil ? generation : faultGeneration,
            fault: fault
        )
        return place
    }

    /// Forgets everything.
    mutating func beginGeneration() {
        generation &+= 1
        faultGeneration &+= 1
    }

    /// Forgets the tokens that were no good.
    mutating func forgetFaults() {
        faultGeneration &+= 1
    }

    private func row(of hash: UInt64) -> Int { (Int(truncatingIfNeeded: hash >> 1) & rowMask) &* Self.placesPerRow }

    private func isPresent(_ place: Int, now: Int64) -> Bool {
        entries[place].validUntil > now
            && entries[place].generation == (entries[place].fault == nil ? generation : faultGeneration)
    }

    /// The place of the same token, else a free or dead one, else a bad one, else (for good tokens) the soonest to end.
    private func place(for hash: UInt64, isGood: Bool, now: Int64) -> Int? {
        var best: (place: Int, rank: Int64)?
        let start = row(of: hash)
        for place in start..<start + Self.placesPerRow {
            if hashes[place] == hash { return place }
            let rank: Int64
            if hashes[place] == 0 || !isPresent(place, now: now) {
                rank = 0
            } else if entries[place].fault != nil {
                rank = 1
            } else {
                if !isGood { continue }
                rank = 2 + max(0, entries[place].validUntil)
            }
            if rank < best?.rank ?? .max { best = (place, rank) }
        }
        return best?.place
    }

    /// A keyed multiply-and-fold over words: an outsider who does not know the key cannot aim at a row; never 0.
    private func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var state = key.0 ^ UInt64(truncatingIfNeeded: bytes.count)
        var index = 0
        // Two words a step: what multiplies has to wait for what was multiplied before.
        while index &+ 16 <= bytes.count {
            state = Self.fold(state ^ bytes.word(at: index), key.1 ^ bytes.word(at: index &+ 8))
            index &+= 16
        }
        while index &+ 8 <= bytes.count {
            state = Self.fold(state ^ bytes.word(at: index), key.1)
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index &+= 1
        }
        return Self.fold(Self.fold(state ^ rest, key.1) ^ key.0, 0x9e37_79b9_7f4a_7c15) | 1
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
