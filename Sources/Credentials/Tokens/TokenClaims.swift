// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// Reads claims by name and type; a claim of another type is a fault, never a guess.
struct TokenClaims {
    let object: JSONObject

    /// The year 9999: later dates are nonsense, and products of them would overflow.
    private static let lastSecond = 253_402_300_799.0
    /// More audiences than any honest token names.
    private static let maximumAudiences = 16
    /// The longest identifier that is passed on.
    private static let maximumText = 512

    func text(_ name: String) throws(TokenFault) -> String {
        guard let text = try optionalText(name) else { throw .badClaims }
        return text
    }

    /// nil when the claim is not there; empty, long or control characters are faults.
    func optionalText(_ name: String) throws(TokenFault) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string, (1...Self.maximumText).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f })
        else { throw .badClaims }
        return text
    }

    /// A NumericDate (RFC 7519 2), as milliseconds; fractions are allowed there.
    fileprivate func optionalDate(_ name: String) throws(TokenFault) -> Int64? {
        guard let value = object[name] else { return nil }
        guard case .number(let number) = value, let seconds = number.double, (0...Self.lastSecond).contains(seconds)
        else { throw .badClaims }
        return Int64(seconds * 1_000)
    }

    func date(_ name: String) throws(TokenFault) -> Int64 {
        guard let date = try optionalDate(name) else { throw .badClaims }
        return date
    }

    /// `aud`: a text or a list of texts (RFC 7519 4.1.3).
    func audiences() throws(TokenFault) -> [String] {
        switch object["aud"] {
        case .string(let text): return [text]
        case .array(let values):
            guard (1...Self.maximumAudiences).contains(values.count) else { throw .badClaims }
            var texts: [String] = []
            for value in values {
                guard let text = value.string else { throw .badClaims }
                texts.append(text)
            }
            return texts
        case nil, .null, .bool, .number, .object: throw .badClaims
        }
    }
}

/// The clock rules of a token.
package struct TokenTimes {
    /// 0 where nobody said: every watermark in force ends such a token.
    let issuedAt: Int64
    let expiresAt: Int64

    /// What clocks may differ by (RFC 7519 4.1.4: "no more than a few minutes").
    package static let leeway: Int64 = 60_000

    /// Checks `exp`, `nbf` and `iat` at `now`: it may have ended `leeway` ago, and begin `ahead` from now.
    init(
        _ claims: TokenClaims,
        now: Int64,
        leeway: Int64,
        ahead: Int64,
        longest: Int64
    ) throws(TokenFault) {
        let expiresAt = try claims.date("exp")
        let issuedAt = try claims.optionalDate("iat")
        let notBefore = try claims.optionalDate("nbf")
        if expiresAt + leeway <= now { throw .expired }
        if let notBefore, notBefore > now + ahead { throw .notYetValid }
        if let issuedAt, issuedAt > now + ahead { throw .notYetValid }
        let begin = issuedAt ?? notBefore ?? now
        guard expiresAt > begin else { throw .badClaims }
        if expiresAt - begin > longest { throw .tooLongLived }
        // What was not said is not guessed: "now" would be after any watermark, and not before is no time of issue.
        self.issuedAt = issuedAt ?? 0
        self.expiresAt = expiresAt
    }
}
