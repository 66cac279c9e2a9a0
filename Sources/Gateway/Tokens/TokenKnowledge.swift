// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store
import Transport

/// What is known of a token.
enum TokenKnowledge {
    case good(VerifiedToken)
    case bad(TokenFault)
    /// The field holds no token but something of another scheme.
    case absent
}

extension TokenKnowledge {
    /// Why it is no good.
    var fault: TokenFault? {
        if case .bad(let fault) = self { fault } else { nil }
    }

    /// The key that signed it.
    var keyID: String? {
        if case .good(let token) = self { token.facts.keyID } else { nil }
    }

    /// The app that it names.
    var namedApp: TokenApp? {
        if case .good(let token) = self { token.facts.namedApp } else { nil }
    }

    /// Asks the directory for the app that it names.
    @Reactor
    func app(in directory: AppDirectory) -> AppLookup {
        switch namedApp {
        case .record(let id): directory.app(record: id.rawValue.utf8.span)
        case .appID(let id): directory.app(id: id.rawValue.utf8.span)
        case nil: .unknown
        }
    }
}

extension TokenFault {
    /// The word of the access log.
    var logWord: String {
        switch self {
        case .malformed: "token_malformed"
        case .tooLong: "token_too_long"
        case .forbiddenHeader: "token_forbidden_header"
        case .wrongType: "token_wrong_type"
        case .wrongAlgorithm: "token_wrong_algorithm"
        case .unknownKey: "token_unknown_key"
        case .badSignature: "token_bad_signature"
        case .wrongIssuer: "token_wrong_issuer"
        case .wrongAudience: "token_wrong_audience"
        case .wrongKind: "token_wrong_kind"
        case .badClaims: "token_bad_claims"
        case .expired: "token_expired"
        case .notYetValid: "token_not_yet_valid"
        case .tooLongLived: "token_too_long_lived"
        case .revoked: "token_revoked"
        }
    }
}
