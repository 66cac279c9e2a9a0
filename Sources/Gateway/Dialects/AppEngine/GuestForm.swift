// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// The body of `POST /profile/guest/auth` (dialects.md C.4): the upstream makes the guest, the
/// gateway asks for the form.
struct GuestForm: Equatable, Sendable {
    /// Reads it; either `email` or `phone` is enough (APP-069).
    init(_ body: FormBody) throws(FormFault) {
        let email = try body.optionalText("email") ?? ""
        let phone = try body.optionalText("phone") ?? ""
        guard !email.isEmpty || !phone.isEmpty else { throw .field("email or phone") }
    }
}

extension Refusal {
    /// What a guest's sign-in answers for `self`: nothing but this app's own token opens it (APP-068, APP-070).
    var askingForAppToken: Refusal {
        switch code {
        case .appCredentialsRequired: Refusal(.appCredentialsRequired, missing: .credential)
        // An expired one is renewed, not replaced: the client has to hear the difference.
        case .appTokenInvalid where reason != "expired": Refusal(.appCredentialsRequired, missing: .credential)
        default: self
        }
    }

    /// 400 or 415 in the words of dialect C.
    static func guestForm(_ fault: FormFault, appID: AppID) -> Refusal {
        let words = AppEngineRefusal(fault)
        var refusal = Refusal(words.status == 415 ? .unsupportedMediaType : .badRequest, appID: appID)
        refusal.sentence = words.sentence
        return refusal
    }
}
