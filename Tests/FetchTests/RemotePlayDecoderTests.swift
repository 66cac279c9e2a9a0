// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Gateway
import Testing
import Transport

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.

@Suite struct RemotePlayDecoderTests {
    @Test func `a token is opened by the service, and the access token is asked for once`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let bench = try PlayBench(loop) { request, _ in
                    if request.line.contains("/token") { return PlayBench.access }
                    return PlayBench.json("200 OK", PlayBench.payload)
                }
                let decoder = try bench.decoder()
                for _ in 0..<3 {
                    let verdict = await bench.verdict(decoder)
                    try Scenario.require(verdict.trust == .pass, "passes: \(verdict)")
                }
                try Scenario.require(decoder.signIns == 1 && bench.api.requests.count == 4, "one sign-in")
                let form = bench.api.requests[0].body
                let jwt = form.split(separator: "=").last.map { $0.split(separator: ".").map { String($0) } } ?? []
                let signature = try Base64.decode(jwt[2], alphabet: .urlSafe, padding: .forbidden)
                let isSigned = bench.key.publicKey.verifies(
                    signature.span,
                    of: Array("\(jwt[0]).\(jwt[1])".utf8).span,
                    .rsaPKCS1(.sha256)
                )
                try Scenario.require(isSigned, "the assertion is signed")
                let call = bench.api.requests[1]
                try Scenario.require(
                    call.line == "POST /v1/com.example.app:decodeIntegrityToken HTTP/1.1"
                        && call.head.contains("Authorization: Bearer ya29.token")
                        && call.body == #"{"integrityToken":"sealed"}"#,
                    "the call is Google's: \(call)"
                )
            }
        }
    }

    @Test func `many who wait for the first access token share one request`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let bench = try PlayBench(loop) { request, _ in
                    request.line.contains("/token") ? PlayBench.access : PlayBench.json("200 OK", PlayBench.payload)
                }
                let decoder = try bench.decoder(deadline: .seconds(20))
                let tasks = (0..<10).map { _ in Task { @Reactor in await bench.verdict(decoder) } }
                for task in tasks {
                    let verdict = await task.value
                    try Scenario.require(verdict.trust == .pass, "passes: \(verdict)")
                }
                try Scenario.require(decoder.signIns == 1, "one sign-in for all")
            }
        }
    }

    @Test func `an access token withdrawn early is replaced once`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let bench = try PlayBench(loop) { request, count in
                    if request.line.contains("/token") { return PlayBench.access }
                    return count == 2
                        ? PlayBench.json("401 Unauthorized", "{}") : PlayBench.json("200 OK", PlayBench.payload)
                }
                let decoder = try bench.decoder()
                let verdict = await bench.verdict(decoder)
                try Scenario.require(
                    verdict.trust == .pass && decoder.signIns == 2,
                    "replaced: \(verdict) \(decoder.lastProblem ?? "")"
                )
            }
        }
    }

    @Test func `what cannot be asked in time degrades, and a token that Google cannot open fails`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let rows: [(String, PlayedAPI.Reply, IntegrityVerdict)] = [
                    ("bad token", PlayBench.json("400 Bad Request", "{}"), .failed(.malformed, at: .decrypt)),
                    ("no permission", PlayBench.json("403 Forbidden", "{}"), .unavailable),
                    ("too many", PlayBench.json("429 Too Many Requests", "{}"), .unavailable),
                    ("broken", PlayBench.json("500 Internal Server Error", "oops"), .unavailable),
                    ("redirect", PlayBench.json("302 Found", "", "Location: https://localhost/\r\n"), .unavailable),
                    ("no JSON", PlayBench.json("200 OK", "<html>"), .unavailable),
                    ("no payload", PlayBench.json("200 OK", "{}"), .unavailable),
                    ("no HTTP", .answer("hello\r\n\r\n"), .unavailable),
                    ("cut", .answer("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"), .unavailable),
                    ("silence", .silence, .unavailable),
                ]
                for (name, reply, expected) in rows {
                    let bench = try PlayBench(loop) { request, _ in
                        request.line.contains("/token") ? PlayBench.access : reply
                    }
                    let start = MonotonicInstant.readClock()
                    let verdict = await bench.verdict(
                        try bench.decoder(deadline: name == "silence" ? .milliseconds(700) : .seconds(20))
                    )
                    let took = MonotonicInstant.readClock().duration(since: start)
                    try Scenario.require(verdict == expected, "\(name): \(verdict)")
                    try Scenario.require(name != "silence" || took < .seconds(5), "\(name) took \(took)")
                }
                let refused = try PlayBench(loop) { _, _ in PlayBench.json("400 Bad Request", "{}") }
                let noAccess = await refused.verdict(try refused.decoder())
                try Scenario.require(noAccess == .unavailable, "no access token: \(noAccess)")
            }
        }
    }

    @Test func `a server with another certificate is not Google`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let bench = try PlayBench(loop) { _, _ in PlayBench.access }
                let other = try PlayedAPI(loop) { _, _ in .silence }
                let verdict = await bench.verdict(try bench.decoder(trusting: other.certificatePEM))
                try Scenario.require(
                    verdict == .unavailable && bench.api.requests.isEmpty,
                    "nothing was sent: \(verdict)"
                )
            }
        }
    }

    @Test func `chunked answers and long heads are read`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let body = PlayBench.payload
                let half = String(body.prefix(100))
                let rest = String(body.dropFirst(100))
                let chunks =
                    "\(String(half.utf8.count, radix: 16))\r\n\(half)\r\n\(String(rest.utf8.count, radix: 16))\r\n\(rest)\r\n0\r\n\r\n"
                let bench = try PlayBench(loop) { request, _ in
                    request.line.contains("/token")
                        ? PlayBench.access : .answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
                }
                let verdict = await bench.verdict(try bench.decoder())
                try Scenario.require(verdict.trust == .pass, "\(verdict)")
            }
        }
    }
}
