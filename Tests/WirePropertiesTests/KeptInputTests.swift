// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing

@testable import WireProperties

/// Inputs that once broke a property, and a few thousand made at random; the fuzzers do the same for minutes.
@Suite struct KeptInputTests {
    static let names = WireTargets.all.map(\.name)

    private func body(_ name: String) throws -> @Sendable ([UInt8]) -> Void {
        try #require(WireTargets.all.first { $0.name == name }).body
    }

    @Test func `inputs that once failed hold now`() throws {
        let top = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let folder = "/\(top)/Fuzz/crashes"
        #expect(!files(in: folder).isEmpty)
        for name in Self.names {
            let body = try body(name)
            for file in files(in: folder) where file.hasPrefix(name + "-") {
                let bytes = bytes(of: folder + "/" + file)
                #expect(bytes.contains { $0 != 0 }, "\(file) was not read")
                body(bytes)
            }
        }
    }

    @Test(arguments: names) func `random changes of good inputs hold`(name: String) throws {
        let body = try body(name)
        var random = Seeded(state: 7)
        for seed in Self.seeds[name] ?? [] {
            body(seed)
            for _ in 0..<(name == "configuration" ? 60 : 400) {
                var changed = seed
                for _ in 0..<Int.random(in: 1...6, using: &random) where !changed.isEmpty {
                    let at = Int.random(in: 0..<changed.count, using: &random)
                    switch Int.random(in: 0...3, using: &random) {
                    case 0: changed[at] = UInt8.random(in: 0...255, using: &random)
                    case 1: changed.remove(at: at)
                    case 2: changed.insert([0, 10, 13, 32, 48, 255].randomElement(using: &random) ?? 0, at: at)
                    default: changed = Array(changed[..<at] + changed[(at / 2)...])
                    }
                }
                body(Array(changed.prefix(4_000)))
            }
        }
    }

    static let seeds: [String: [[UInt8]]] = [
        "request": [
            text("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\nPOST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
            text(
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nX: y\r\n\r\nGET /"
            ),
        ],
        "response": [
            text("\0HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"),
            text(
                "\0HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
            ),
            text("\u{1}HTTP/1.0 200 OK\r\n\r\nbody"),
        ],
        "chunked": [text("5\r\nhello\r\n0\r\n\r\n"), text("1;a=\"b\"\r\nx\r\n00\r\nA: b\r\n\r\n")],
        "http2-server": [
            [1, 1, 5, 1, 4, 0x82, 0x87, 0x84, 0x41, 0, 0, 1, 3, 1, 2, 3, 8, 0, 1, 4, 0, 0, 1, 0],
            [0, 0, 0, 4, 1, 5, 0, 0, 0, 1, 0x82, 0x87, 0x84, 0xc1, 0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8],
        ],
        "http2-client": [[1, 1, 4, 1, 1, 0x88, 0, 1, 1, 2, 65, 66], [0, 0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88]],
        "proxy": [
            text("PROXY TCP4 192.0.2.7 203.0.113.1 54321 443\r\nGET /"), text("PROXY UNKNOWN\r\n"),
            [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x21, 0x11, 0, 12]
                + [UInt8](repeating: 7, count: 14),
        ],
        "path": [text("a/b/../c"), text("a//b/%2e%2E/;x=y/%2F%41")],
        "configuration": [
            text(
                "version: 1\nlisteners: [{ address: 127.0.0.1:1 }]\nupstreams: { a: { endpoints: [http://b] } }\n"
                    + "routes:\n  - { name: x, match: { path: / }, upstream: a, access: open }\n"
            )
        ],
        "jose": [text("a.b.c"), [0, 200, 65, 0, 9, 66], text("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\"}]}")],
    ]

    private static func text(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    private func files(in folder: String) -> [String] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            names.append(
                unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                    unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
            )
        }
        return names
    }

    private func bytes(of path: String) -> [UInt8] {
        guard let file = unsafe fopen(path, "re") else { return [] }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 17)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }
}

/// A seeded generator, so that a failure can be run again.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
