// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// Every revocation in force, held by each worker, so that no request asks the store.
///
/// Isolated to the Reactor. Read completely before the worker's lease is registered, then kept by the change stream.
/// Names are kept as keyed 64-bit digests: should two ever meet, a token too many is refused, never one too few.
@Reactor
package final class Revocations {
    private var tokens: [Int: Int64] = [:]
    private var marks: [Int: (notBefore: Int64, expiresAt: Int64)] = [:]
    private let loop: EventLoop
    private let now: @Reactor () -> Int64
    private var nextSweep = MonotonicInstant(nanoseconds: 0)

    private static let pageSize = 2_000
    private static let sweepInterval = Duration.seconds(60)

    /// None yet; `now` is the clock that tokens end by.
    package init(loop: EventLoop, now: @escaping @Reactor () -> Int64) {
        self.loop = loop
        self.now = now
    }

    /// Whether any watermark is held.
    package var hasMarks: Bool { !marks.isEmpty }

    /// The number of revocations held.
    package var count: Int { tokens.count + marks.count }

    /// Whether the token of this id was revoked by it.
    package func isRevoked(token id: Span<UInt8>) -> Bool {
        !tokens.isEmpty && tokens[digestOf(.token, id)] != nil
    }

    /// Whether tokens of `subject` that were issued at `issuedAt` (milliseconds since 1970) are revoked.
    package func isRevoked(_ subject: RevocationSubject, issuedAt: Int64) -> Bool {
        guard !marks.isEmpty, let mark = marks[subject.digest] else { return false }
        return issuedAt < mark.notBefore
    }

    /// Whether the token whose place this is, issued at `issuedAt`, is revoked by its id or by any watermark; looks up
    /// what was hashed when the token was verified.
    package func isRevoked(_ place: RevocationPlace, issuedAt: Int64) -> Bool {
        if !tokens.isEmpty, let token = place.token, tokens[token] != nil { return true }
        if marks.isEmpty { return false }
        return isMarked(place.app, issuedAt) || isMarked(place.person, issuedAt) || isMarked(place.device, issuedAt)
            || isMarked(place.key, issuedAt)
    }

    private func isMarked(_ digest: Int?, _ issuedAt: Int64) -> Bool {
        guard let digest, let mark = marks[digest] else { return false }
        return issuedAt < mark.notBefore
    }

    private func add(token id: String, expiresAt: Int64) {
        tokens[digestOf(.token, id.utf8.span)] = expiresAt
    }

    private func add(mark subject: RevocationSubject, notBefore: Int64, expiresAt: Int64) {
        let digest = subject.digest
        let known = marks[digest] ?? (0, 0)
        marks[digest] = (max(known.notBefore, notBefore), max(known.expiresAt, expiresAt))
    }

    /// Forgets what no living token can meet any more.
    private func sweep() {
        guard loop.now >= nextSweep else { return }
        nextSweep = loop.now.advanced(by: Self.sweepInterval)
        let now = now() - Revocation.margin
        tokens = tokens.filter { $0.value > now }
        marks = marks.filter { $0.value.expiresAt > now }
    }
}

extension Revocations: ChangeSubscriber {
    package func apply(_ change: RegistryNotice) -> Bool {
        guard let revocation = change.revocation else { return false }
        sweep()
        for token in revocation.tokens { add(token: token.id, expiresAt: token.expiresAt) }
        for mark in revocation.marks {
            add(mark: mark.subject, notBefore: mark.notBefore, expiresAt: mark.expiresAt)
        }
        return false
    }

    /// Nothing: what is held stays in force until the whole list was read again.
    package func dropEverything() {}

    package func reload(_ change: RegistryNotice) async {}

    /// Reads every revocation; entries that are added meanwhile come by the stream as well.
    ///
    /// What was held stays: a revocation is never taken back, and a store that has lost one revives no token here.
    package func restore(from connection: RedisConnection) async throws(StoreError) {
        let fresh = Revocations(loop: loop, now: now)
        try await scan("ZSCAN", "revoked", connection) { id, expiry throws(StoreError) in
            fresh.add(token: id, expiresAt: try Self.number(expiry))
        }
        var ends: [String: Int64] = [:]
        try await scan("ZSCAN", "mark-ends", connection) { name, expiry throws(StoreError) in
            ends[name] = try Self.number(expiry)
        }
        try await scan("HSCAN", "marks", connection) { name, notBefore throws(StoreError) in
            guard let subject = RevocationSubject(name: name) else { throw .malformed("the subject of a revocation") }
            // One added since the ends were read: its end comes with its change.
            fresh.add(mark: subject, notBefore: try Self.number(notBefore), expiresAt: ends[name] ?? .max)
        }
        tokens.merge(fresh.tokens) { max($0, $1) }
        marks.merge(fresh.marks) { (max($0.notBefore, $1.notBefore), max($0.expiresAt, $1.expiresAt)) }
        sweep()
    }

    /// Walks a whole collection; an element may come twice, which does no harm.
    private func scan(
        _ command: String,
        _ key: String,
        _ connection: RedisConnection,
        _ each: (String, String) throws(StoreError) -> Void
    ) async throws(StoreError) {
        var cursor = "0"
        repeat {
            let reply = try await connection.call(
                [
                    .text(command), .text("\(RegistryScripts.tag):\(key)"), .text(cursor), "COUNT",
                    .number(Self.pageSize),
                ],
                deadline: .seconds(5)
            )
            guard let parts = reply.elements, parts.count == 2, let next = parts[0].text,
                let values = parts[1].elements?.compactMap(\.text), values.count % 2 == 0
            else { throw .malformed("the revocations") }
            for index in stride(from: 0, to: values.count, by: 2) { try each(values[index], values[index + 1]) }
            cursor = next
        } while cursor != "0"
    }

    private static func number(_ text: String) throws(StoreError) -> Int64 {
        guard let number = Int64(text) else { throw .malformed("the time of a revocation") }
        return number
    }
}
