// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway
import Testing

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.

@Suite struct WebURLTests {
    @Test(
        arguments: [
            ("https://a.example", "a.example", 443, "/"), ("https://A.example:8443/x?y=1", "a.example", 8443, "/x?y=1"),
            ("https://a.example?y", "a.example", 443, "/?y"),
        ] as [(String, String, UInt16, String)]
    )
    func `an address is taken apart`(text: String, host: String, port: UInt16, target: String) throws {
        let url = try #require(WebURL(text))
        #expect(url.host == host && url.port == port && url.target == target)
    }

    @Test(arguments: [
        "", "http://a.example/", "https://", "https:///x", "https://u@a.example/", "https://a.example:0/",
        "https://a.example:99999/", "https://a.example/#f", "https://a.example/ x", "https://a.example/\r\nX: y",
        "https://a.example:1:2/",
    ])
    func `anything else is no address`(text: String) {
        #expect(WebURL(text) == nil)
    }
}
