// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway
import Testing
import Transport

@Suite struct OutboundAddressesTests {
    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "198.17.0.1",
        "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "2002:808:808::1",
    ])
    func `a public address is connected to`(text: String) throws {
        #expect(OutboundAddresses(exceptions: []).permits(try #require(IPAddress(parsing: text))))
    }

    @Test(arguments: [
        "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.168.1.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1", "febf::1", "fec0::1", "fc00::1",
        "fd12:3456::1", "ff02::1", "2001:db8::1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::1",
    ])
    func `one that is not public is not, unless it is listed`(text: String) throws {
        let address = try #require(IPAddress(parsing: text))
        #expect(!OutboundAddresses(exceptions: []).permits(address))
        let range = try #require(AddressRange(parsing: address.description))
        #expect(OutboundAddresses(exceptions: [range]).permits(address))
        let other = try #require(AddressRange(parsing: "203.0.113.7"))
        #expect(!OutboundAddresses(exceptions: [other]).permits(address))
    }
}
