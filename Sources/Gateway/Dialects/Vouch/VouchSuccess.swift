// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Encodings

/// The success bodies of dialect vouch.
enum VouchSuccess {
    static func exchange(
        _ verdict: VouchVerdict,
        reasons: [VouchReason],
        token: (text: String, expiresAt: Int64)?,
        isFromCache: Bool
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("verdict", verdict.trust.rawValue)
        json.name("reasons")
        json.beginArray()
        for reason in reasons {
            json.beginObject()
            json.member("code", reason.code)
            json.member("message", reason.sentence)
            json.endObject()
        }
        json.endArray()
        json.member("source", verdict.source.rawValue)
        json.name("run_token")
        json.value(token.map { .string($0.text) } ?? .null)
        json.name("expires_at")
        json.value(token.map { .string(InternetTime.text(seconds: $0.expiresAt / 1_000)) } ?? .null)
        json.member("from_cache", isFromCache)
        json.member("debug", verdict.source == .debug)
        json.endObject()
        return json.bytes
    }
}
