// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP

extension RequestHead {
    /// The fields that name an app or vouch for it.
    var presentedCredentials: PresentedCredentials {
        @_lifetime(borrow self)
        get {
            var presented = PresentedCredentials(head: bytes)
            guard fields.present.intersects(PresentedCredentials.relevant) else { return presented }
            for index in 0..<fields.count {
                guard let field = PresentedCredentials.field(fields.field(at: index)) else { continue }
                presented.note(field, at: valueRange(at: index))
            }
            return presented
        }
    }
}

extension PresentedCredentials {
    fileprivate static let relevant: KnownFieldSet = [
        .origin, .xAPIKey, .authorization, .xClientAuthorization, .xAppID, .orgID, .appID,
    ]

    @inline(__always)
    fileprivate static func field(_ known: KnownField) -> CredentialField? {
        switch known {
        case .origin: .origin
        case .xAPIKey: .apiKey
        case .authorization: .authorization
        case .xClientAuthorization: .clientAuthorization
        case .xAppID: .appID
        case .orgID: .organization
        case .appID: .appName
        default: nil
        }
    }
}
