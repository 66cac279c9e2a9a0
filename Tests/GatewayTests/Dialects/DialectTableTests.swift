// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Testing

@testable import Gateway

@Suite struct DialectTableTests {
    private let request = RefusalRequest(
        method: "GET",
        path: "/any/route",
        decision: "d1",
        now: 1_792_418_472_000,
        documentation: "https://docs.example.com/attestation"
    )
    private let app = AppID(rawValue: "app_7f3c2a")

    private func render(_ refusal: Refusal, _ dialect: Dialect) -> RenderedRefusal {
        DialectTable.render(refusal, dialect: dialect, request: request)
    }

    private func body(_ refusal: Refusal, _ dialect: Dialect) -> String {
        String(decoding: render(refusal, dialect).body, as: UTF8.self)
    }

    private func field(_ name: String, _ answer: RenderedRefusal) -> String? {
        answer.fields.first { $0.name == name }?.value
    }

    @Test(arguments: [
        (
            Missing.nativeRegistration,
            [
                "sallyport native add ios --bundle-id <bundle id> --team-id <team id>",
                "sallyport native add android --package <package> --sha256 <certificate SHA-256>", "sallyport apply",
            ],
            #"{"message":"No native app is registered for this application.","error":"app_credentials_required","data":{"app_id":"app_7f3c2a","missing":"native_registration","next_steps":["sallyport native add ios --bundle-id <bundle id> --team-id <team id>","sallyport native add android --package <package> --sha256 <certificate SHA-256>","sallyport apply"],"docs":"https://docs.example.com/attestation#app_credentials_required"}}"#
        ),
        (
            .attestation, ["Pass attestation providers to the SDK."],
            #"{"message":"This request carries no attestation.","error":"app_credentials_required","data":{"app_id":"app_7f3c2a","missing":"attestation","next_steps":["Pass attestation providers to the SDK."],"docs":"https://docs.example.com/attestation#app_credentials_required"}}"#
        ),
        (
            .credential,
            ["sallyport origins add <origin>", "Or send an API key of the application from your server."],
            #"{"message":"This request carries no allowed origin, attested token or API key.","error":"app_credentials_required","data":{"app_id":"app_7f3c2a","missing":"credential","next_steps":["sallyport origins add <origin>","Or send an API key of the application from your server."],"docs":"https://docs.example.com/attestation#app_credentials_required"}}"#
        ),
        (
            .developmentMode, ["Sign in again from an attested build.", "sallyport dev-mode on --hours 24"],
            #"{"message":"Development mode has ended, and this session with it.","error":"app_credentials_required","data":{"app_id":"app_7f3c2a","missing":"development_mode","next_steps":["Sign in again from an attested build.","sallyport dev-mode on --hours 24"],"docs":"https://docs.example.com/attestation#app_credentials_required"}}"#
        ),
    ])
    func `dialect A names its code as a string with 401`(missing: Missing, steps: [String], golden: String) {
        let refusal = Refusal(.appCredentialsRequired, missing: missing, appID: app, nextSteps: steps)
        #expect(body(refusal, .offlineid) == golden)
        #expect(render(refusal, .offlineid).status == 401)
    }

    @Test func `dialect A says invalid_app as the specification has it`() {
        let refusal = Refusal(.invalidApp, appID: app, nextSteps: ["sallyport apps list"])
        #expect(
            body(refusal, .offlineid)
                == #"{"message":"No such application.","error":"invalid_app","data":{"app_id":"app_7f3c2a","missing":null,"next_steps":["sallyport apps list"],"docs":"https://docs.example.com/attestation#invalid_app"}}"#
        )
    }

    @Test func `dialect A names its code as an object with any other status`() {
        let refusal = Refusal(
            .originNotAllowed,
            appID: app,
            nextSteps: ["sallyport origins add https://shop.example.com"]
        )
        #expect(
            body(refusal, .offlineid)
                == #"{"message":"This origin is not allowed for the application.","error":{"code":"origin_not_allowed","message":"This origin is not allowed for the application."},"data":{"app_id":"app_7f3c2a","missing":null,"next_steps":["sallyport origins add https://shop.example.com"],"docs":"https://docs.example.com/attestation#origin_not_allowed"}}"#
        )
        let low = Refusal(.trustTooLow, appID: app, details: [("trust", "degraded"), ("required", "hardware")])
        #expect(body(low, .offlineid).hasSuffix(#","trust":"degraded","required":"hardware"}}"#))
    }

    @Test func `dialect B has code and message`() {
        #expect(
            body(Refusal(.appCredentialsRequired), .vouch)
                == #"{"error":{"code":"run_token_required","message":"This request needs a run token. Get a run token from POST /v1/sdk/attest, and send it as Authorization: Bearer beside the fields of its device."}}"#
        )
    }

    @Test(arguments: [
        (
            Refusal(.appRevoked),
            #"{"code":"app_revoked","statusCode":401,"error":"This app is revoked. To mend it: sallyport apps enable","path":"/any/route","method":"GET","timeStamp":"2026-10-19T14:01:12.000Z"}"#
        ),
        (
            Refusal(.appTokenInvalid, reason: "expired"),
            #"{"code":"token_expired","statusCode":401,"error":"The app token has expired. Sign in again.","path":"/any/route","method":"GET","timeStamp":"2026-10-19T14:01:12.000Z"}"#
        ),
        (
            Refusal(.appCredentialsRequired, missing: .credential, reason: "missing_authorization"),
            #"{"code":"missing_authorization_header","statusCode":401,"error":"An app token is required. Sign the app in first.","path":"/any/route","method":"GET","timeStamp":"2026-10-19T14:01:12.000Z"}"#
        ),
        (
            Refusal(.missingOrganization),
            #"{"code":"missing_orgid","statusCode":400,"error":"The orgid header is required. Send the organization's id as orgid.","path":"/any/route","method":"GET","timeStamp":"2026-10-19T14:01:12.000Z"}"#
        ),
        (
            Refusal(.appCredentialsRequired, missing: .credential, reason: "unknown_key"),
            #"{"code":"app_token_required","reason":"unknown_key","statusCode":401,"error":"Sign the app in first.","path":"/any/route","method":"GET","timeStamp":"2026-10-19T14:01:12.000Z"}"#
        ),
    ])
    func `dialect C has its envelope`(refusal: Refusal, golden: String) {
        #expect(body(refusal, .appengine) == golden)
    }

    @Test(arguments: RefusalCode.allCases, Dialect.allCases)
    func `every refusal is never cached and names its decision`(code: RefusalCode, dialect: Dialect) throws {
        let answer = render(Refusal(code, retryAfter: code == .rateLimited ? 7 : nil), dialect)
        #expect(answer.status == code.status)
        #expect(field("content-type", answer) == "application/json")
        #expect(field("cache-control", answer) == "no-store")
        #expect(field("sallyport-decision", answer) == "d1")
        #expect((field("www-authenticate", answer) != nil) == (code.status == 401))
        #expect(field("retry-after", answer) == (code == .rateLimited ? "7" : nil))
        #expect((field("proxy-status", answer) != nil) == [502, 503, 504, 508].contains(code.status))
        let json = try JSONValue(parsing: answer.body)
        #expect(json.object != nil)
    }

    @Test func `RFC 9457 is given to those who ask`() {
        var asking = request
        asking.wantsProblemDocument = true
        let answer = DialectTable.render(
            Refusal(.originNotAllowed, appID: app, nextSteps: ["sallyport origins add https://a.example"]),
            dialect: .appengine,
            request: asking
        )
        #expect(answer.status == 403)
        #expect(field("content-type", answer) == "application/problem+json")
        #expect(
            String(decoding: answer.body, as: UTF8.self).hasPrefix(
                #"{"type":"https://docs.example.com/attestation#origin_not_allowed","title":"This origin is not allowed"#
            )
        )
    }

    @Test func `gRPC callers get 200 and trailers only`() {
        var asking = request
        asking.isGRPC = true
        let answer = DialectTable.render(
            Refusal(.appCredentialsRequired, missing: .credential, nextSteps: ["Schlüssel 100%"]),
            dialect: .offlineid,
            request: asking
        )
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(field("grpc-status", answer) == "16")
        #expect(field("grpc-message", answer)?.hasSuffix("Schl%C3%BCssel 100%25") == true)
        #expect(field("content-type", answer) == "application/grpc")
    }
}
