// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Store

/// A new debug token (APP-075): its text is shown once.
struct NewDebugToken: Sendable {
    let record: DebugTokenRecord
    let text: String

    /// The first characters, which lists show.
    private static let prefixLength = 8
    /// More would be a leak of their own.
    static let most = 50

    init(name: String, peppers: PepperRing, now: Int64) {
        text = NewNames.debugToken()
        record = DebugTokenRecord(
            id: NewNames.debugTokenID(),
            name: name,
            prefix: String(text.prefix(Self.prefixLength)),
            secret: peppers.hash(text.utf8.span, .debugToken, createdAt: now)
        )
    }
}
