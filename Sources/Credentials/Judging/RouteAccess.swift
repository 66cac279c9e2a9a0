// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Who may use a route; there is no third case and no default.
package enum RouteAccess: Sendable, Equatable {
    /// Written `access: open`: no app and no credential is asked for.
    case open
    case restricted(AccessRules)
}

/// What a restricted route asks for.
package struct AccessRules: Sendable, Equatable {
    package var organizations: OrganizationRule
    package var credentials: CredentialKinds
    /// The least trust of an attested token; nil: tokens without trust pass too.
    package var minimumTrust: Trust?
    package var person: PersonRule
    /// Whether the route takes an attestation in its body: it chooses `data.missing` (OFF-012).
    package var takesAttestation: Bool

    package init(
        organizations: OrganizationRule,
        credentials: CredentialKinds,
        minimumTrust: Trust? = nil,
        person: PersonRule = .none,
        takesAttestation: Bool = false
    ) {
        self.organizations = organizations
        self.credentials = credentials
        self.minimumTrust = minimumTrust
        self.person = person
        self.takesAttestation = takesAttestation
    }
}

/// Whose apps a route is for.
package enum OrganizationRule: Sendable, Equatable {
    case any
    case only([OrganizationID])

    package func allows(_ organization: OrganizationID) -> Bool {
        switch self {
        case .any: true
        case .only(let list): list.contains(organization)
        }
    }
}

/// Whether a person's token must, may or may not accompany the app's credential.
package enum PersonRule: String, Sendable, CaseIterable {
    case none, optional, required
}
