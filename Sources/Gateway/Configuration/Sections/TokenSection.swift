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
    // An hour is what dialect `appengine` promises (APP-064); a page or a build that nobody trusts may get less.
    static let appLife = Setting(
        "app_life",
        .duration(.seconds(5)...(.seconds(3600))),
        .standard(.seconds(3600)),
        "Life of the token that an app gets when it signs in; `expiresIn` tells it."
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
        [issuer.row, algorithm.row, appLife.row, handOff.row, leeway.row]
    )

    static let kind = ValueKind<TokenSettings>.section(schema) { section in
        let issuer = section.value(issuer)
        let algorithm = section.value(algorithm)
        let appLife = section.value(appLife)
        let handOff = section.value(handOff)
        guard let leeway = section.value(leeway), let issuer, let algorithm, let appLife, let handOff else {
            return nil
        }
        return TokenSettings(
            issuer: issuer,
            algorithm: algorithm,
            appLife: appLife,
            handOff: handOff,
            leeway: leeway
        )
    }
}
