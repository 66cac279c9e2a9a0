// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP

/// The answer shapes of dialect A (dialects.md A.0).
enum OfflineAnswers {
    static func words(for refusal: Refusal) -> RefusalWords {
        RefusalWords(neutral: refusal)
    }

    /// A refusal with 401 has its code as a string, every other as an object; `data` has its four members always.
    static func body(_ refusal: Refusal, _ words: RefusalWords, _ request: RefusalRequest) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("message", words.sentence)
        if refusal.code.status == 401 {
            json.member("error", words.code)
        } else {
            json.name("error")
            json.beginObject()
            json.member("code", words.code)
            json.member("message", words.sentence)
            json.endObject()
        }
        json.name("data")
        json.beginObject()
        // OFF-128: both keys are there even when nothing applies.
        write("app_id", refusal.appID?.rawValue, to: &json)
        write("missing", refusal.missing?.rawValue, to: &json)
        json.member("next_steps", refusal.nextSteps)
        json.member("docs", "\(request.documentation)#\(words.code)")
        if let reason = words.reason(of: refusal) { json.member("reason", reason) }
        for detail in refusal.details { json.member(detail.name, detail.value) }
        json.endObject()
        json.endObject()
        return json.bytes
    }

    /// What is no request at all has no route and so no dialect: it is told in this one, with a status of its own.
    static func body(_ violation: HTTPViolation, documentation: String) -> [UInt8] {
        let sentence = "The request is not well-formed HTTP."
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.member("message", sentence)
        json.name("error")
        json.beginObject()
        json.member("code", RefusalCode.badRequest.rawValue)
        json.member("message", sentence)
        json.endObject()
        json.name("data")
        json.beginObject()
        write("app_id", nil, to: &json)
        write("missing", nil, to: &json)
        json.member("next_steps", [violation.mending])
        json.member("docs", "\(documentation)#\(RefusalCode.badRequest.rawValue)")
        json.member("reason", violation.rawValue)
        json.endObject()
        json.endObject()
        return json.bytes
    }

    private static func write(_ name: String, _ text: String?, to json: inout JSONWriter) {
        json.name(name)
        if let text { json.value(text) } else { json.null() }
    }
}
