// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct VouchKeyTextTests {
    private func mint(_ kind: VouchKeyKind, isLive: Bool) -> (id: APIKeyID, text: String) {
        VouchKeyText.mint(kind, isLive: isLive) { count in (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) } }
    }

    @Test(arguments: [
        (VouchKeyKind.sdk, true, "pk_live_"), (.sdk, false, "pk_test_"), (.management, true, "sk_live_"),
        (.management, false, "sk_test_"),
    ])
    func `a key says what it is for`(kind: VouchKeyKind, isLive: Bool, prefix: String) throws {
        let (id, text) = mint(kind, isLive: isLive)
        let parsed = try #require(VouchKeyText(parsing: text))
        #expect(text.hasPrefix(prefix) && text.utf8.count == VouchKeyText.length)
        #expect(parsed.kind == kind && parsed.isLive == isLive && parsed.id == id)
    }

    @Test func `any other character makes it no key`() {
        let text = Array(mint(.sdk, isLive: true).text.utf8)
        for place in text.indices {
            var other = text
            other[place] = other[place] == UInt8(ascii: "x") ? UInt8(ascii: "y") : UInt8(ascii: "x")
            #expect(VouchKeyText(parsing: String(decoding: other, as: UTF8.self)) == nil, "\(place)")
        }
        for wrong in [Array(text.dropLast()), text + [UInt8(ascii: "0")], []] {
            #expect(VouchKeyText(parsing: String(decoding: wrong, as: UTF8.self)) == nil)
        }
    }
}

@Suite struct RunTokenTextTests {
    private let app = RecordID(rawValue: "65f0c0ffee65f0c0ffee65f0")

    @Test func `a token names its app`() throws {
        let token = try #require(RunTokenText.make(for: app, random: [UInt8](repeating: 9, count: 32)))
        #expect(token.utf8.count == RunTokenText.length && token.hasPrefix("rt_"))
        #expect(RunTokenText(parsing: Array(token.utf8))?.app == app)
    }

    @Test func `any other character makes it no token`() throws {
        let token = Array(try #require(RunTokenText.make(for: app, random: [UInt8](repeating: 9, count: 32))).utf8)
        for place in token.indices {
            var other = token
            other[place] = other[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(RunTokenText(parsing: other) == nil, "\(place)")
        }
        #expect(RunTokenText(parsing: Array(token.dropLast())) == nil && RunTokenText(parsing: []) == nil)
    }

    @Test func `what is no record id or no randomness makes none`() {
        #expect(RunTokenText.make(for: RecordID(rawValue: "65f0"), random: [UInt8](repeating: 9, count: 32)) == nil)
        #expect(RunTokenText.make(for: app, random: [1]) == nil)
    }
}
