// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Transport

/// The keys of `routes[].sign_in`.
enum SignInSection {
    static let sendCode = Setting("send_code", ValueKind.requestPath, .optional, "Sends a code.")
    static let verify = Setting("verify", ValueKind.requestPath, .optional, "Takes a code.")
    static let guest = Setting("guest", ValueKind.requestPath, .optional, "Opens a guest session.")
    static let refresh = Setting("refresh", ValueKind.requestPath, .optional, "Renews a session.")

    static let tokens = Setting(
        "tokens",
        ValueKind<SessionTokenForm>.choice,
        .standard(.jwt),
        "What `data.token` is: a JWT of an issuer of kind `session`, or opaque, and then bound by the gateway."
    )
    static let sessionLife = Setting(
        "session_life",
        .duration(.seconds(1)...(.seconds(31 * 86_400))),
        .standard(.seconds(86_400)),
        "How long an opaque session counts."
    )
    static let refreshLife = Setting(
        "refresh_life",
        .duration(.seconds(1)...(.seconds(366 * 86_400))),
        .standard(.seconds(30 * 86_400)),
        "How long `data.refresh_token` renews sessions."
    )

    static let schema = SectionSchema(
        "routes[].sign_in",
        [sendCode.row, verify.row, guest.row, refresh.row, tokens.row, sessionLife.row, refreshLife.row]
    )

    static let kind = ValueKind<SignInSettings>.section(schema) { section in
        let sendCode = section.value(sendCode)
        let verify = section.value(verify)
        let guest = section.value(guest)
        let refresh = section.value(refresh)
        let tokens = section.value(tokens)
        let sessionLife = section.value(sessionLife)
        guard let refreshLife = section.value(refreshLife), let tokens, let sessionLife else { return nil }
        return SignInSettings(
            sendCode: sendCode,
            verify: verify,
            guest: guest,
            refresh: refresh,
            tokens: tokens,
            sessionLife: sessionLife,
            refreshLife: refreshLife
        )
    }
}
