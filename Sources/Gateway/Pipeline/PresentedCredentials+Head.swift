// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP

extension PresentedCredentials {
    /// The fields of `head` that name an app or vouch for it.
    @_lifetime(borrow head)
    init(_ head: borrowing RequestHead) {
        var presented = PresentedCredentials(head: head.methodBytes)
        if head.fields.present.intersects(Self.relevant) {
            for index in 0..<head.fields.count {
                guard let field = Self.field(head.fields.field(at: index)) else { continue }
                presented.note(field, head.fields.value(at: index))
            }
        }
        self = presented
    }

    private static let relevant: KnownFieldSet = [
        .origin, .xAPIKey, .authorization, .xClientAuthorization, .xAppID, .orgID, .appID,
    ]

    @inline(__always)
    private static func field(_ known: KnownField) -> CredentialField? {
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
