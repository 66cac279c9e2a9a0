// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Credentials

@Suite struct SiteNormalizerTests {
    @Test(arguments: [
        ("HTTPS://Shop.Example.com:443/", "https://shop.example.com"),
        ("http://localhost:8081", "http://localhost:8081"),
        ("http://shop.example.com:80", "http://shop.example.com"),
        ("https://shop.example.com:80", "https://shop.example.com:80"),
        (" https://shop.example.com/path?q#f ", "https://shop.example.com"),
        ("https://shop.example.com.", "https://shop.example.com"),
        ("https://Bücher.example", "https://xn--bcher-kva.example"),
        ("https://bu\u{308}cher.example", "https://xn--bcher-kva.example"),
        ("https://bücher。example", "https://xn--bcher-kva.example"),
        ("http://[0:0:0:0:0:0:0:1]:3000", "http://[::1]:3000"),
        ("http://[2001:DB8:0:0:1:0:0:1]", "http://[2001:db8::1:0:0:1]"),
        ("http://[::ffff:1.2.3.4]", "http://[::ffff:102:304]"),
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("https://a_b.example", "https://a_b.example"),
    ])
    func `an origin is brought to normal form`(written: String, normal: String) {
        #expect(SiteNormalizer.origin(adding: written) == .success(normal))
        #expect(SiteNormalizer.origin(adding: normal) == .success(normal))
    }

    @Test(arguments: [
        ("null", SiteProblem.null), ("", .empty), ("   ", .empty), ("https://", .empty), ("https:///x", .empty),
        ("https://u:p@a.com", .userInformation), ("exp://192.168.1.2:8081", .scheme), ("shop.example.com", .scheme),
        ("ftp://a.com", .scheme), ("https://*.example.com", .wildcard), ("https://a b.com", .space),
        ("https://a.com:99999", .port), ("https://a.com:0", .port), ("https://a.com:", .port),
        ("https://a.com:8o", .port), ("https://a..com", .host), ("https://.", .host), ("https://a%2ecom", .host),
        ("https://0x7f.1", .address), ("https://127.1", .address), ("https://127.0.0.01", .address),
        ("https://256.0.0.1", .address), ("https://[::1", .address), ("https://[::1%25eth0]", .address),
        ("https://[1:2:3:4:5:6:7:8:9]", .address), ("https://[1::2::3]", .address),
        ("https://\(String(repeating: "a", count: 64)).com", .label),
    ])
    func `what is no origin cannot be added`(written: String, problem: SiteProblem) {
        #expect(SiteNormalizer.origin(adding: written) == .failure(problem))
    }

    @Test(arguments: [
        ("https://Shop.Example.com/contact", "shop.example.com"),
        ("shop.example.com.", "shop.example.com"),
        ("localhost:3200", "localhost:3200"),
        ("http://[0:0:0:0:0:0:0:1]:3000/", "[::1]:3000"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("https://shop.example.com:443", "shop.example.com"),
        ("http://shop.example.com:443", "shop.example.com:443"),
        ("shop.example.com:443", "shop.example.com:443"),
        (" //Shop.Example.com/x?y#z ", "shop.example.com"),
        ("A.com/", "a.com"),
        ("127.0.0.1:3000", "127.0.0.1:3000"),
    ])
    func `a domain is brought to normal form`(written: String, normal: String) {
        #expect(SiteNormalizer.domain(adding: written) == .success(normal))
        #expect(SiteNormalizer.domain(adding: normal) == .success(normal))
    }

    @Test(arguments: [
        "https://u:p@shop.example.com", "*.example.com", "a.com:99999", "a b.com", "", "0x7f.1", "a.com:0",
    ])
    func `what is no domain cannot be added`(written: String) {
        guard case .failure = SiteNormalizer.domain(adding: written) else {
            Issue.record("\(written) was taken")
            return
        }
    }

    @Test func `an Origin field holds nothing after its authority`() {
        #expect(SiteNormalizer.origin(presented: "https://a.com") == .success("https://a.com"))
        #expect(SiteNormalizer.origin(presented: "https://a.com/x") == .failure(.host))
        #expect(SiteNormalizer.origin(presented: "https://a.com?x") == .failure(.host))
    }

    @Test func `what is longer than any name is not read letter by letter`() {
        let spaces = String(repeating: " ", count: 1_000)
        #expect(SiteNormalizer.origin(presented: spaces + "https://a.com") == .success("https://a.com"))
        #expect(SiteNormalizer.origin(presented: spaces + spaces + "https://a.com") == .failure(.host))
    }

    @Test(arguments: [
        "https://shop.example.com", "http://localhost:8081", "https://a-b.example:8443", "http://127.0.0.1:3000",
        "https://Shop.example.com", "https://a.com:443", "http://a.com:80", "https://a.com.", "https://a.com:08",
        "https://[::1]", "https://a_b.com", "null", "https://", "https://a.com:", "https://a..com", "https://a.com/",
        "https://a.com:80:80", "https://a.com.:8443", "https://bücher.example", "https://a.com:99999",
    ])
    func `bytes that count as normal are changed by nothing`(origin: String) {
        guard SiteNormalizer.isNormal(origin) else { return }
        switch SiteNormalizer.origin(presented: origin) {
        case .success(let normal): #expect(normal == origin)
        case .failure: break
        }
    }

    @Test func `what browsers send takes the fast path`() {
        for origin in ["https://shop.example.com", "http://localhost:8081", "https://a.example:8443"] {
            #expect(SiteNormalizer.isNormal(origin))
        }
        for origin in ["https://Shop.example.com", "https://a.com:443", "https://a.com.", "https://[::1]", "null"] {
            #expect(!SiteNormalizer.isNormal(origin))
        }
    }

    @Test(arguments: [
        ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        ("Pročprostěnemluvíčesky", "Proprostnemluvesky-uyb24dma41a"), ("3年B組金八先生", "3B-ww4c5e180e575a65lsy2b"),
        ("bücher", "bcher-kva"), ("ü", "tda"),
    ])
    func `labels are encoded as RFC 3492 has it`(label: String, encoded: String) {
        #expect(Punycode.encode(label[...]) == encoded)
    }

    @Test func `an origin is admitted by itself in dialect A and by its host in dialect C`() {
        let origin = "https://shop.example.com"
        #expect(SiteNormalizer.entries(admitting: origin, dialect: .offlineid) == [origin])
        #expect(
            SiteNormalizer.entries(admitting: origin, dialect: .appengine)
                == ["shop.example.com", "shop.example.com:443"]
        )
        #expect(SiteNormalizer.entries(admitting: "http://[::1]:3000", dialect: .appengine) == ["[::1]", "[::1]:3000"])
    }
}
