// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Crypto
import Encodings
import Gateway
import Testing
import Transport

/// Runs a scenario in a process of its own: a process has one loop, and other suites have theirs.

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
