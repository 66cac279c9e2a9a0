// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// The answer shape of dialect B's transport errors (requirements 13.2).
enum VouchAnswers {
    /// The shape has no place for next steps, so the message tells the first one.
    static func words(for refusal: Refusal) -> RefusalWords {
        guard refusal.code == .appCredentialsRequired else { return RefusalWords(neutral: refusal).mended(by: refusal) }
        return RefusalWords(code: "run_token_required", sentence: "This request needs a run token.").mended(by: refusal)
    }

    static func body(_ words: RefusalWords) -> [UInt8] {
        var json = JSONWriter(capacity: 128)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.member("code", words.code)
        json.member("message", words.sentence)
        json.endObject()
        json.endObject()
        return json.bytes
    }
}
