// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Store

/// The published keys, by which others verify our tokens and `Sallyport-Identity`.
enum KeyEndpoints {
    static let all: [LocalEndpoint] = [
        LocalEndpoint(.keys, "GET", "/.well-known/jwks.json", mostBytes: 0, isBrowserFacing: false) { _, worker in
            let keys = worker.state.tokens.verificationKeys(now: worker.state.clock.now)
            // An empty set would be kept and refuse good tokens; no answer is not.
            guard !keys.isEmpty else { return .refused(.stateAway) }
            return .answer(
                LocalAnswer(
                    status: 200,
                    fields: [
                        // RFC 7517 8.5.1.
                        HeaderField(name: "content-type", value: "application/jwk-set+json"),
                        HeaderField(name: "cache-control", value: "public, max-age=\(maxAge)"),
                    ],
                    body: JSONWebKeySet.publish(keys)
                ),
                app: nil
            )
        }
    ]

    /// Half of the time that a key is published before it signs, so that a kept set is never too old.
    private static let maxAge = SigningKeyRing.publication / 2_000
}
