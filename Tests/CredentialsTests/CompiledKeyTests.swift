// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Testing

@testable import Credentials

@Suite struct CompiledKeyTests {
    private let key = Fixture.key(1)

    private func remembering(_ peppers: PepperRing) throws -> App {
        let app = try App(compiling: Fixture.app())
        #expect(app.verify(text: key.text, with: peppers) == .valid(key.id))
        return app
    }

    @Test func `a text that was verified is valid again`() throws {
        let peppers = try Fixture.peppers()
        let app = try remembering(peppers)
        #expect(app.verify(text: key.text, with: peppers) == .valid(key.id))
    }

    @Test func `every other text with the same id is refused after one was verified`() throws {
        let peppers = try Fixture.peppers()
        let app = try remembering(peppers)
        for index in 18..<56 {
            var bytes = Array(key.text.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "a") ? UInt8(ascii: "b") : UInt8(ascii: "a")
            #expect(app.verify(text: String(decoding: bytes, as: UTF8.self), with: peppers) == .malformed)
        }
        let body = Array(key.text.utf8.prefix(18)) + Array(Fixture.key(9).text.utf8)[18..<50]
        let forged = APIKeyText.signed(body)
        #expect(app.verify(text: forged, with: peppers) == .invalid)
        #expect(app.verify(text: key.text, with: peppers) == .valid(key.id))
    }

    @Test func `a key that its app has lost is unknown to the app's next record`() throws {
        let peppers = try Fixture.peppers()
        _ = try remembering(peppers)
        let changed = try App(compiling: Fixture.app { $0.keys = [] })
        #expect(changed.verify(text: key.text, with: peppers) == .unknown)
    }

    @Test func `a text verified under one pepper is hashed again under another`() throws {
        let peppers = try Fixture.peppers(["p1"])
        let app = try remembering(peppers)
        #expect(app.verify(text: key.text, with: try Fixture.peppers(["p2"])) == .invalid)
        let other = SecretBytes(Array("another pepper, thirty-two bytes or more".utf8).span)
        try peppers.replace([("p1", other)])
        #expect(app.verify(text: key.text, with: peppers) == .invalid)
    }
}

extension APIKeyText {
    /// A key text with these 50 bytes and the checksum that belongs to them.
    static func signed(_ body: [UInt8]) -> String {
        let checksum = Base62.checksum(of: body.span)
        return String(decoding: body + checksum.indices.map { checksum[$0] }, as: UTF8.self)
    }
}
