// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing

@Suite
struct AuthorityTests {
    @Test(
        arguments: [
            ("a", 1, nil), ("a.test", 6, nil), ("a.test:1", 6, 1), ("a.test:65535", 6, 65535), ("10.0.0.1:80", 8, 80),
            ("[::]", 4, nil), ("[::1]:8443", 5, 8443), ("[1:2:3:4:5:6:7:8]", 17, nil), ("[1:2::7:8]", 10, nil),
            ("[::ffff:10.0.0.1]", 17, nil), ("[1::]", 5, nil), ("a_b.test", 8, nil), ("XN--A.test.", 11, nil),
            ("[2001:db8::192.0.2.33]:1", 22, 1),
        ] as [(String, Int, UInt16?)]
    )
    func `hosts with and without a port are read`(_ text: String, _ hostLength: Int, _ port: UInt16?) {
        let authority = Authority(text.utf8.span)
        #expect(authority?.host == 0..<hostLength)
        #expect(authority?.port == port)
    }

    @Test(arguments: [
        "", ":80", "a:", "a:b", "a:65536", "a:000001", "a:-1", "a b", "u@a", "a,b", "a/b", "a%41", "a?", "a#b", "[",
        "[]",
        "[:]", "[::1", "::1", "[1]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[::1::]", "[:::]", "[12345::]", "[1:]",
        "[::1]x", "[::1]:", "[fe80::1%25eth0]", "[v1.a]", "[::256.0.0.1]", "[::1.2.3]", "[::01.2.3.4]", "[::1.2.3.4.5]",
        "[1:2:3:4:5:6:7::8]", "\u{e9}.test", "[1::2:]", "[::1.2.3.]",
    ])
    func `anything else is not an authority`(_ text: String) {
        #expect(Authority(text.utf8.span) == nil)
    }
}
