// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials

/// The error envelope of dialect C (dialects.md C.0).
enum AppEngineAnswers {
    /// The envelope has no place for next steps, so the sentence tells the first one where it says nothing of the kind.
    static func words(for refusal: Refusal) -> RefusalWords {
        switch (refusal.code, refusal.reason) {
        case (.appCredentialsRequired, "missing_authorization"):
            RefusalWords(
                code: "missing_authorization_header",
                sentence: "An app token is required. \(NextSteps.present(in: .appengine))"
            )
        case (.appCredentialsRequired, "organization_mismatch"):
            RefusalWords(code: "app_token_required", sentence: "The app is not of this organization.").mended(
                by: refusal
            )
        case (.appCredentialsRequired, _):
            RefusalWords(code: "app_token_required", sentence: NextSteps.present(in: .appengine))
        case (.appTokenInvalid, "expired"):
            RefusalWords(code: "token_expired", sentence: "The app token has expired.").mended(by: refusal)
        case (.originNotAllowed, _):
            RefusalWords(code: refusal.code.rawValue, sentence: "This origin is not allowed for the app.").mended(
                by: refusal
            )
        default:
            refusal.sentence == nil
                ? RefusalWords(neutral: refusal).mended(by: refusal) : RefusalWords(neutral: refusal)
        }
    }

    static func body(_ refusal: Refusal, _ words: RefusalWords, _ request: RefusalRequest) -> [UInt8] {
        AppEngineRefusal(
            code: words.code,
            reason: words.reason(of: refusal),
            status: refusal.code.status,
            sentence: words.sentence
        ).body(method: request.method, path: request.path, now: request.now)
    }
}
