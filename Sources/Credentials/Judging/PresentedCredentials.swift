// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The fields of one request that name an app or vouch for it: borrowed bytes and how often each field came.
///
/// Filled by the request pipeline in one pass over the head; holds no copies, so it cannot outlive the head.
package struct PresentedCredentials: ~Escapable {
    /// Empty when the field did not come; ask `has`.
    package private(set) var origin: Span<UInt8>
    package private(set) var apiKey: Span<UInt8>
    package private(set) var authorization: Span<UInt8>
    package private(set) var clientAuthorization: Span<UInt8>
    /// `X-App-Id` (offlineid).
    package private(set) var appID: Span<UInt8>
    /// `orgid` (appengine).
    package private(set) var organization: Span<UInt8>
    /// `appId` as a field (appengine).
    package private(set) var appName: Span<UInt8>
    /// A field came more than once: the request is ambiguous whatever else it says (E.1).
    package private(set) var isAmbiguous = false
    private var present: UInt8 = 0
    private let head: Span<UInt8>

    /// A request without any of the fields, whose values live in (or as long as) `head`.
    @_lifetime(copy head)
    package init(head: Span<UInt8>) {
        let none = head.extracting(0..<0)
        self.head = head
        origin = none
        apiKey = none
        authorization = none
        clientAuthorization = none
        appID = none
        organization = none
        appName = none
    }

    /// Whether the field came, be it with an empty value.
    @inline(__always)
    package func has(_ field: CredentialField) -> Bool { present & field.bit != 0 }

    /// Notes one field of the request whose value lies at `range` of the head.
    @_lifetime(self: copy self)
    @inline(__always)
    package mutating func note(_ field: CredentialField, at range: Range<Int>) {
        note(field, head.extracting(range))
    }

    /// One of the fields came more than once.
    @_lifetime(self: copy self)
    package mutating func noteRepetition() { isAmbiguous = true }

    /// Notes one field of the request.
    @_lifetime(self: copy self, copy value)
    @inline(__always)
    package mutating func note(_ field: CredentialField, _ value: Span<UInt8>) {
        if has(field) { isAmbiguous = true }
        present |= field.bit
        switch field {
        case .origin: origin = value
        case .apiKey: apiKey = value
        case .authorization: authorization = value
        case .clientAuthorization: clientAuthorization = value
        case .appID: appID = value
        case .organization: organization = value
        case .appName: appName = value
        }
    }
}

/// The request fields that matter for judging.
package enum CredentialField: Sendable, CaseIterable {
    case origin, apiKey, authorization, clientAuthorization, appID, organization, appName

    /// The field of this name (lower-case bytes), if it is one of these.
    package init?(name: Span<UInt8>) {
        switch name.count {
        case 5 where name.equals("appid"): self = .appName
        case 5 where name.equals("orgid"): self = .organization
        case 6 where name.equals("origin"): self = .origin
        case 8 where name.equals("x-app-id"): self = .appID
        case 9 where name.equals("x-api-key"): self = .apiKey
        case 13 where name.equals("authorization"): self = .authorization
        case 22 where name.equals("x-client-authorization"): self = .clientAuthorization
        default: return nil
        }
    }

    @inline(__always)
    var bit: UInt8 {
        switch self {
        case .origin: 1
        case .apiKey: 2
        case .authorization: 4
        case .clientAuthorization: 8
        case .appID: 16
        case .organization: 32
        case .appName: 64
        }
    }
}
