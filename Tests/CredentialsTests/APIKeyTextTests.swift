// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Testing

@testable import Credentials

@Suite struct APIKeyTextTests {
    @Test func `a minted key parses and names its id`() throws {
        for seed in UInt8(0)...20 {
            let key = Fixture.key(seed)
            #expect(key.text.utf8.count == APIKeyText.length)
            #expect(key.text.hasPrefix("sally_"))
            let parsed = try #require(APIKeyText(bytes: Array(key.text.utf8)))
            #expect(parsed.keyID == key.id)
            #expect(APIKeyText(id: key.id) == parsed)
        }
    }

    @Test func `a key with any one character changed is refused`() {
        let text = Array(Fixture.key(7).text.utf8)
        for index in text.indices {
            for replacement in [UInt8(ascii: "a"), UInt8(ascii: "Z"), UInt8(ascii: "0"), UInt8(ascii: "-")]
            where replacement != text[index] {
                var changed = text
                changed[index] = replacement
                #expect(APIKeyText(bytes: changed) == nil, "position \(index)")
            }
        }
    }

    @Test func `neighbours swapped, ends cut and ends added are refused`() {
        let text = Array(Fixture.key(9).text.utf8)
        for index in text.indices.dropLast() where text[index] != text[index + 1] {
            var changed = text
            changed.swapAt(index, index + 1)
            #expect(APIKeyText(bytes: changed) == nil)
        }
        #expect(APIKeyText(bytes: Array(text.dropLast())) == nil)
        #expect(APIKeyText(bytes: text + [UInt8(ascii: "0")]) == nil)
        #expect(APIKeyText(bytes: []) == nil)
    }

    @Test func `a key verifies for its app only, and under any pepper that is held`() throws {
        let old = try Fixture.peppers(["p1"])
        let other = try Fixture.peppers(["p2"])
        let both = try Fixture.peppers(["p2", "p1"])
        let app = try App(compiling: Fixture.app())
        let key = Fixture.key(1)
        #expect(app.verify(text: key.text, with: old) == .valid(key.id))
        #expect(app.verify(text: key.text, with: both) == .valid(key.id))
        #expect(app.verify(text: key.text, with: other) == .invalid)
        #expect(app.verify(text: Fixture.key(2).text, with: old) == .unknown)
        #expect(app.verify(text: "sally_nonsense", with: old) == .malformed)
    }

    @Test func `another secret under the same key id is invalid`() throws {
        let peppers = try Fixture.peppers()
        let key = Fixture.key(1)
        let app = try App(
            compiling: Fixture.app {
                $0.keys = [Fixture.record(Fixture.key(2).text, id: key.id, peppers: peppers)]
            }
        )
        #expect(app.verify(text: key.text, with: peppers) == .invalid)
    }

    @Test func `a hash of another purpose is worthless`() throws {
        let peppers = try Fixture.peppers()
        let key = Fixture.key(1)
        let hash = peppers.hash(key.text.utf8.span, .appSecret, createdAt: 0)
        let compiled = try #require(CompiledSecret(hash))
        #expect(peppers.matches(compiled, .appSecret, text: key.text))
        #expect(!peppers.matches(compiled, .apiKey, text: key.text))
    }

    @Test func `a ring needs peppers, long ones, each id once`() {
        let long = SecretBytes([UInt8](repeating: 1, count: 32).span)
        let short = SecretBytes([UInt8](repeating: 1, count: 31).span)
        #expect(throws: PepperProblem.none) { try PepperRing([]) }
        #expect(throws: PepperProblem.short(id: "a")) { try PepperRing([("a", short)]) }
        #expect(throws: PepperProblem.duplicate(id: "a")) { try PepperRing([("a", long), ("a", long)]) }
    }
}
