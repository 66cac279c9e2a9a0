// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// A refusal as RFC 9457, for callers that ask for it.
enum ProblemDocument {
    static func body(_ refusal: Refusal, _ words: RefusalWords, _ request: RefusalRequest) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("type", "\(request.documentation)#\(words.code)")
        json.member("title", words.sentence)
        json.member("status", refusal.code.status)
        if let detail = refusal.nextSteps.first { json.member("detail", detail) }
        json.member("code", words.code)
        if let app = refusal.appID { json.member("app_id", app.rawValue) }
        if let missing = refusal.missing { json.member("missing", missing.rawValue) }
        if let reason = refusal.reason { json.member("reason", reason) }
        json.member("next_steps", refusal.nextSteps)
        json.member("decision", request.decision)
        for detail in refusal.details { json.member(detail.name, detail.value) }
        json.endObject()
        return json.bytes
    }
}
