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
            if let range = valueRange(of: .origin) { presented.note(.origin, at: range) }
            if let range = valueRange(of: .xAPIKey) { presented.note(.apiKey, at: range) }
            if let range = valueRange(of: .authorization) { presented.note(.authorization, at: range) }
            if let range = valueRange(of: .xClientAuthorization) { presented.note(.clientAuthorization, at: range) }
            if let range = valueRange(of: .xAppID) { presented.note(.appID, at: range) }
            if let range = valueRange(of: .orgID) { presented.note(.organization, at: range) }
            if let range = valueRange(of: .appID) { presented.note(.appName, at: range) }
            if fields.repeated.intersects(PresentedCredentials.relevant) { presented.noteRepetition() }
            return presented
        }
    }
}

extension PresentedCredentials {
    fileprivate static let relevant: KnownFieldSet = [
        .origin, .xAPIKey, .authorization, .xClientAuthorization, .xAppID, .orgID, .appID,
    ]
}
