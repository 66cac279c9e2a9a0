// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct TokenCacheTests {
    private func isGood(_ outcome: TokenCache<Int>.Outcome?) -> Int? {
        guard case .good(let value) = outcome else { return nil }
        return value
    }

    @Test func `a token is known until it runs out, and by its whole text`() {
        var cache = TokenCache<Int>(capacity: 64)
        cache.remember("token-one".utf8.span, 1, until: 100, now: 0)
        let known = cache.outcome(for: "token-one".utf8.span, now: 99)
        let other = cache.outcome(for: "token-onf".utf8.span, now: 99)
        let late = cache.outcome(for: "token-one".utf8.span, now: 100)
        #expect(isGood(known) == 1)
        #expect(other == nil)
        #expect(late == nil)
    }

    @Test func `a new generation forgets all`() {
        var cache = TokenCache<Int>(capacity: 64)
        cache.remember("a".utf8.span, 1, until: 100, now: 0)
        cache.beginGeneration()
        let forgotten = cache.outcome(for: "a".utf8.span, now: 0)
        #expect(forgotten == nil)
    }

    @Test func `an added key makes it forget what was refused, and nothing else`() {
        var cache = TokenCache<Int>(capacity: 64)
        cache.remember("good".utf8.span, 1, until: 100, now: 0)
        cache.remember("bad".utf8.span, TokenFault.unknownKey, now: 0)
        cache.forgetFaults()
        #expect(isGood(cache.outcome(for: "good".utf8.span, now: 0)) == 1)
        let forgotten = cache.outcome(for: "bad".utf8.span, now: 0)
        #expect(forgotten == nil)
    }

    @Test func `a flood of bad tokens pushes no good one out`() {
        var cache = TokenCache<Int>(capacity: 16)
        for number in 0..<8 { cache.remember("good \(number)".utf8.span, number, until: 1_000_000, now: 0) }
        var before: [Int] = []
        for number in 0..<8 where isGood(cache.outcome(for: "good \(number)".utf8.span, now: 1)) == number {
            before.append(number)
        }
        for number in 0..<10_000 { cache.remember("bad \(number)".utf8.span, TokenFault.malformed, now: 1) }
        for number in before {
            let outcome = cache.outcome(for: "good \(number)".utf8.span, now: 2)
            #expect(isGood(outcome) == number)
        }
        #expect(before.count >= 4)
    }

    @Test func `it stays as large as it was made`() {
        var cache = TokenCache<Int>(capacity: 64)
        for number in 0..<10_000 { cache.remember("good \(number)".utf8.span, number, until: 1_000, now: 0) }
        var known = 0
        for number in 0..<10_000 where isGood(cache.outcome(for: "good \(number)".utf8.span, now: 1)) != nil {
            known += 1
        }
        #expect(known <= 64)
        #expect(known > 32)
    }
}
