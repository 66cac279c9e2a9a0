// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Gateway
import Glibc
import Synchronization
import Testing
import Transport

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.
enum Scenario {
    static let loop = Mutex<EventLoop?>(nil)

    static func run(_ body: @escaping @Reactor (EventLoop) async throws -> Void) async {
        signal(SIGPIPE, SIG_IGN)
        var thread = pthread_t()
        unsafe pthread_create(&thread, nil, scenarioThread, nil)
        var started: EventLoop?
        while started == nil {
            started = loop.withLock { $0 }
            usleep(500)
        }
        await perform(body)
    }

    @Reactor private static func perform(_ body: @Reactor (EventLoop) async throws -> Void) async {
        guard let loop = loop.withLock({ $0 }) else { exit(3) }
        do {
            try await body(loop)
        } catch {
            // Shown by the test that expects a clean end.
            let line = Array("scenario: \(error)\n".utf8)
            unsafe write(STDERR_FILENO, line, line.count)
            exit(2)
        }
        exit(0)
    }

    /// A sentence that does not hold.
    struct Broken: Error {
        let sentence: String
    }

    static func require(_ condition: Bool, _ sentence: String) throws {
        if !condition { throw Broken(sentence: sentence) }
    }
}

private nonisolated func scenarioThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Reactor.run { made in Scenario.loop.withLock { $0 = made } }
    return nil
}

/// A service account, an app and Google's API, played.
@Reactor
struct PlayBench {
    static let now = Moment(seconds: 1_790_000_000)
    let loop: EventLoop
    let key: PrivateKey
    let api: PlayedAPI

    init(_ loop: EventLoop, reply: @escaping @Reactor (PlayedAPI.Request, Int) -> PlayedAPI.Reply) throws {
        self.loop = loop
        key = try PrivateKey.generate(.rsa(bits: 2048))
        api = try PlayedAPI(loop, reply: reply)
    }

    func decoder(trusting pem: [UInt8]? = nil, deadline: Duration = .seconds(20)) throws -> RemotePlayDecoder {
        var text = JSONWriter()
        text.beginObject()
        text.member("type", "service_account")
        text.member("client_email", "judge@example.iam.gserviceaccount.com")
        text.member("private_key_id", "k1")
        text.member("private_key", try key.pem())
        text.member("token_uri", "https://localhost:\(api.port)/token")
        text.endObject()
        let account = try ServiceAccount(parsing: text.bytes)
        let base = try #require(WebURL("https://localhost:\(api.port)/"))
        let decoder = RemotePlayDecoder(
            account,
            client: try client(trusting: pem ?? api.certificatePEM),
            loop: loop,
            base: base,
            deadline: deadline
        ) { Self.now }
        return try #require(decoder)
    }

    func client(trusting pem: [UInt8]) throws -> WebClient {
        let tls = try TLSClientContext(TLSClientSettings(trust: .authorities(pem: pem)))
        return WebClient(loop: loop, resolver: Resolver(loop: loop, pool: BlockingPool(threads: 1)), tls: tls)
    }

    func verdict(_ decoder: RemotePlayDecoder) async -> IntegrityVerdict {
        let app = AndroidApp(package: "com.example.app", signers: [])
        return await decoder.verdict(
            on: "sealed",
            package: "com.example.app",
            verifier: IntegrityVerifier(apps: [app]),
            nonce: "bm9uY2U"
        )
    }

    static func json(_ status: String, _ body: String, _ fields: String = "") -> PlayedAPI.Reply {
        .answer(
            "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
    }

    static let access = json("200 OK", #"{"access_token":"ya29.token","expires_in":3599,"token_type":"Bearer"}"#)
    static let payload = """
        {"tokenPayloadExternal":{"requestDetails":{"requestPackageName":"com.example.app",
        "timestampMillis":"\(now.milliseconds)","nonce":"bm9uY2U"},"appIntegrity":{"appRecognitionVerdict":
        "PLAY_RECOGNIZED","packageName":"com.example.app"},"deviceIntegrity":{"deviceRecognitionVerdict":
        ["MEETS_DEVICE_INTEGRITY"]},"accountDetails":{"appLicensingVerdict":"LICENSED"}}}
        """
}

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

@Suite struct StatusListRefreshTests {
    @Test func `the last good list stays, whatever the server says next`() async {
        await #expect(processExitsWith: .success) {
            await Scenario.run { loop in
                let list = #"{"entries":{"abc1":{"status":"REVOKED"}}}"#
                let replies: [PlayedAPI.Reply] = [
                    PlayBench.json("200 OK", list, "Cache-Control: max-age=7200\r\nETag: \"one\"\r\n"),
                    PlayBench.json("304 Not Modified", ""), PlayBench.json("500 Internal Server Error", ""),
                    PlayBench.json("200 OK", "<html>"), PlayBench.json("200 OK", #"{"entries":{}}"#),
                ]
                let bench = try PlayBench(loop) { _, count in replies[count - 1] }
                var template = Array("/tmp/sallyport-trust-XXXXXX".utf8CString)
                guard let made = unsafe mkdtemp(&template) else { throw Scenario.Broken(sentence: "a directory") }
                let path = unsafe String(cString: made)
                for name in BuiltInTrust.names {
                    let text = BuiltInTrust.text(ofFile: name) ?? ""
                    try SmallFile.write(Array(text.utf8), to: "\(path)/\(name)")
                }
                let directory = TrustDirectory(path: path)
                let refresh = StatusListRefresh(
                    bundle: try directory.bundle(),
                    keptIn: .bundle(directory),
                    client: try bench.client(trusting: bench.api.certificatePEM),
                    url: try #require(WebURL("https://localhost:\(bench.api.port)/attestation/status"))
                ) { PlayBench.now }
                var outcomes: [Bool] = []
                for _ in replies { outcomes.append(await refresh.refresh()) }
                try Scenario.require(
                    outcomes == [true, true, false, false, false],
                    "\(outcomes) \(refresh.lastProblem ?? "")"
                )
                try Scenario.require(refresh.bundle.statusList.status(ofSerial: "abc1") == .revoked, "the list is kept")
                try Scenario.require(bench.api.requests[1].head.contains("If-None-Match: \"one\""), "the tag is sent")
                try Scenario.require(refresh.lastProblem == "an empty list", "\(refresh.lastProblem ?? "nil")")
                let stored = try directory.bundle()
                try Scenario.require(
                    stored.statusList.status(ofSerial: "abc1") == .revoked && stored.statusListTime == PlayBench.now,
                    "the list is stored with its time"
                )
            }
        }
    }
}

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
