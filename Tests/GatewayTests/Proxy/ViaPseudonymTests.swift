// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Gateway

@Suite struct ViaPseudonymTests {
    @Test func `a node has one name, and no other node has it`() {
        let one = String(decoding: ViaPseudonym(node: "0011223344556677").bytes, as: UTF8.self)
        #expect(one == String(decoding: ViaPseudonym(node: "0011223344556677").bytes, as: UTF8.self))
        #expect(one != String(decoding: ViaPseudonym(node: "0011223344556678").bytes, as: UTF8.self))
        #expect(one.hasPrefix("sallyport-") && one.count == 22 && !one.contains("00112233"))
    }

    @Test(arguments: [
        ("1.1 us", true), ("1.1 edge, 2.0 us", true), ("1.1 us (Sallyport), 1.1 edge", true),
        ("HTTP/1.1\tus , 1.0 x", true), ("1.1 US", true), ("1.1   us", true),
        ("1.1 us2", false), ("1.1 edge", false), ("us", false), ("us 1.1", false), ("1.1 edge (us)", false),
        ("", false),
        (",,,", false), ("1.1", false), ("1.1 us:80", false),
    ])
    func `a hop is known by its received-by alone`(_ value: String, _ names: Bool) {
        #expect(value.utf8.span.namesHop("us".utf8.span) == names)
    }
}
