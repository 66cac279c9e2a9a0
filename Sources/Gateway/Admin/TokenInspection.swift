// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// A token as an operator looks at it: what it says, believed or not.
struct TokenInspection {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Header and claims as far as they can be read.
    var members: [(String, JSONValue)] {
        let segments = text.split(separator: ".", omittingEmptySubsequences: false)
        guard segments.count == 3 else { return [("header", .null), ("claims", .null)] }
        return [("header", Self.object(segments[0])), ("claims", Self.object(segments[1]))]
    }

    /// What the gateway makes of it, as an app's token or as a person's, whichever it is.
    func judge(with authority: TokenAuthority, now: Int64) -> Result<TokenFacts, TokenFault> {
        var fault = TokenFault.malformed
        for use in TokenUse.allCases {
            do throws(TokenFault) {
                return .success(try authority.verify(text.utf8.span, as: use, now: now))
            } catch {
                // The other place may be the right one; else the first fault says more.
                let isMisplaced = error == .wrongKind || error == .wrongIssuer
                if use == .application || !isMisplaced { fault = error }
            }
        }
        return .failure(fault)
    }

    private static func object(_ segment: Substring) -> JSONValue {
        guard segment.utf8.count <= 16_384 else { return .null }
        do {
            let bytes = try Base64.decode(String(segment), alphabet: .urlSafe, padding: .forbidden)
            return try JSONValue(parsing: bytes, limits: JSONLimits(bytes: 16_384, depth: 16, values: 1_024))
        } catch {
            return .null
        }
    }
}
