// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing
import Transport

@Suite struct SocketAddressTests {
    @Test(arguments: [
        "127.0.0.1:80", "[::1]:8443", "[2001:db8::1]:0", "0.0.0.0:65535", "unix:/run/a.sock", "unix:state/a",
    ])
    func `a written address reads back as it is written`(text: String) {
        #expect(SocketAddress(parsing: text)?.description == text)
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1: 1", "::1:80", "[::1]",
        "[127.0.0.1]:80",
        "[::1:80", "localhost:80", "1.2.3:80", "01.2.3.4:80", "unix:", "", "[]:1", "[fe80::1%eth0]:80",
        "127.0.0.1:000080",
    ])
    func `anything else is refused`(text: String) {
        #expect(SocketAddress(parsing: text) == nil)
    }

    @Test func `an address mapped into IPv6 is IPv4`() {
        #expect(IPAddress(parsing: "::ffff:10.0.0.1") == IPAddress(parsing: "10.0.0.1"))
        #expect(SocketAddress(parsing: "[::ffff:10.0.0.1]:80")?.description == "10.0.0.1:80")
    }

    @Test(arguments: [
        ("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"), ("2001:db8::1", 128, "2001:db8::1"), ("ffff::1", 1, "8000::"),
        ("2001:db8::ffff", 127, "2001:db8::fffe"), ("10.1.2.3", 8, "10.0.0.0"), ("10.1.2.3", 32, "10.1.2.3"),
        ("255.1.2.3", 0, "0.0.0.0"), ("10.1.2.3", 64, "10.1.2.3"),
    ])
    func `a prefix keeps the leading bits`(text: String, length: Int, prefix: String) {
        #expect(IPAddress(parsing: text)?.prefix(length).description == prefix)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("0.0.0.0/0", "1.2.3.4", true),
        ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("::/0", "1.2.3.4", false),
        ("2001:db8::/32", "2001:db8:ffff::", true),
        ("2001:db8::/32", "2001:db9::", false), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false),
        ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("2001:db8::/65", "2001:db8::7fff:0:0:1", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
    ])
    func `a range contains what shares its leading bits`(range: String, address: String, contained: Bool) throws {
        let range = try #require(AddressRange(parsing: range))
        let address = try #require(IPAddress(parsing: address))
        #expect(range.contains(address) == contained)
    }

    @Test(arguments: [
        "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "10.0.0.0/8/8", "x/8", "10.0.0.0/ 8", "",
    ])
    func `a crooked range is refused`(text: String) {
        #expect(AddressRange(parsing: text) == nil)
    }
}
