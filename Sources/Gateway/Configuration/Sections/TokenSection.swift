// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The keys of `tokens`.
enum TokenSection {
    static let issuer = Setting(
        "issuer",
        ValueKind.text,
        .standard("sallyport"),
        "`iss` of our own tokens, best the gateway's public URL; the same on all nodes. Tokens of another are refused."
    )
    static let algorithm = Setting(
        "algorithm",
        ValueKind<SigningAlgorithm>.choice,
        .standard(.es256),
        "What signing keys are made for at the next `keyring rotate`. `Sallyport-Identity` is ES256 always."
    )
    // OFF-079 states no life; a day is what people expect of a sign-in.
    static let session = Setting(
        "session",
        .duration(.seconds(60)...(.seconds(30 * 86_400))),
        .standard(.seconds(86_400)),
        "Life of a session or person's token. App tokens live one hour."
    )
    static let run = Setting(
        "run",
        .duration(.seconds(60)...(.seconds(86_400))),
        .standard(.seconds(900)),
        "Life of a run token."
    )
    // Short, since an upstream cannot ask whether it was revoked; two minutes bear a slow clock.
    static let handOff = Setting(
        "hand_off",
        .duration(.seconds(60)...(.seconds(300))),
        .standard(.seconds(120)),
        "Life of `Sallyport-Identity`."
    )
    // RFC 7519 4.1.4: "no more than a few minutes".
    static let leeway = Setting(
        "leeway",
        .duration(.seconds(0)...(.seconds(300))),
        .standard(.seconds(60)),
        "What clocks of outside issuers may differ by; our own tokens get none."
    )

    static let schema = SectionSchema(
        "tokens",
        [issuer.row, algorithm.row, session.row, run.row, handOff.row, leeway.row]
    )

    static let kind = ValueKind<TokenSettings>.section(schema) { section in
        let issuer = section.value(issuer)
        let algorithm = section.value(algorithm)
        let session = section.value(session)
        let run = section.value(run)
        let handOff = section.value(handOff)
        guard let leeway = section.value(leeway), let issuer, let algorithm, let session, let run, let handOff else {
            return nil
        }
        return TokenSettings(
            issuer: issuer,
            algorithm: algorithm,
            session: session,
            run: run,
            handOff: handOff,
            leeway: leeway
        )
    }
}
