// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Gateway

@Suite struct PathPatternTests {
    private let pattern: PathPattern = "/v1/apps/{app}/security/devices/{device}/revoke"

    @Test func `parameters are the segments in their places`() {
        #expect(
            pattern.parameters(of: "/v1/apps/app_1/security/devices/dev-2/revoke") == [
                "app": "app_1", "device": "dev-2",
            ]
        )
    }

    @Test(arguments: [
        "/v1/apps/app_1/security/devices/dev/revoke/", "/v1/apps//security/devices/dev/revoke",
        "/v1/apps/a%2Fb/security/devices/dev/revoke", "/v1/apps/a;x=1/security/devices/dev/revoke",
        "/v1/apps/app_1/security/devices/dev", "/V1/apps/app_1/security/devices/dev/revoke", "*", "",
    ])
    func `what is longer, shorter, escaped or spelled otherwise is another path`(_ path: String) {
        #expect(pattern.parameters(of: path) == nil)
    }

    @Test func `the literal beginning ends where the first parameter stands`() {
        #expect(pattern.literalPrefix == Array("/v1/apps/".utf8))
        #expect(("/.well-known/jwks.json" as PathPattern).literalPrefix == Array("/.well-known/jwks.json".utf8))
    }
}
