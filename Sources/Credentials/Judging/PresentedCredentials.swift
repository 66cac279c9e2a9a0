// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The fields of one request that name an app or vouch for it: where they lie in the head and how often each came.
///
/// Filled by the request pipeline in one pass over the head; holds no copies, so it cannot outlive the head.
package struct PresentedCredentials: ~Escapable {
    /// Where a value lies in the head; narrow, so that all of them are a cache line.
    private struct Place: BitwiseCopyable {
        var start: UInt32 = 0
        var end: UInt32 = 0
    }

    /// A field came more than once: the request is ambiguous whatever else it says (E.1).
    package private(set) var isAmbiguous = false
    private var present: UInt8 = 0
    private let head: Span<UInt8>
    private var originPlace = Place()
    private var apiKeyPlace = Place()
    private var appIDPlace = Place()
    private var organizationPlace = Place()

    /// A request without any of the fields, whose values live in `head`.
    @_lifetime(copy head)
    package init(head: Span<UInt8>) {
        self.head = head
    }

    /// Whether the field came, be it with an empty value.
    @inline(__always)
    package func has(_ field: CredentialField) -> Bool { present & field.bit != 0 }

    /// Notes one field of the request whose value lies at `range` of the head.
    @_lifetime(self: copy self)
    package mutating func note(_ field: CredentialField, at range: Range<Int>) {
        if has(field) { isAmbiguous = true }
        present |= field.bit
        let place = Place(start: UInt32(range.lowerBound), end: UInt32(range.upperBound))
        switch field {
        case .origin: originPlace = place
        case .apiKey: apiKeyPlace = place
        case .appID: appIDPlace = place
        case .organization: organizationPlace = place
        // Whether it came is all that is asked: the pipeline reads these out of the head itself.
        case .authorization, .clientAuthorization, .appName: break
        }
    }

    /// One of the fields came more than once.
    @_lifetime(self: copy self)
    package mutating func noteRepetition() { isAmbiguous = true }

    // MARK: Values, empty when the field did not come

    package var origin: Span<UInt8> {
        @_lifetime(copy self) get { value(originPlace) }
    }
    package var apiKey: Span<UInt8> {
        @_lifetime(copy self) get { value(apiKeyPlace) }
    }
    /// `X-App-Id` (offlineid).
    package var appID: Span<UInt8> {
        @_lifetime(copy self) get { value(appIDPlace) }
    }
    /// `orgid` (appengine).
    package var organization: Span<UInt8> {
        @_lifetime(copy self) get { value(organizationPlace) }
    }

    @_lifetime(copy self)
    private func value(_ place: Place) -> Span<UInt8> { head.extracting(Int(place.start)..<Int(place.end)) }
}

/// The request fields that matter for judging.
package enum CredentialField: Sendable, CaseIterable {
    case origin, apiKey, authorization, clientAuthorization, appID, organization, appName

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
