// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

extension ValueKind where Value == RouteAccess {
    /// `open`, written out, or a section.
    static let access = ValueKind(
        "`open` or section",
        read: { reader in
            switch reader.node.content {
            case .scalar("open", _): .open
            case .mapping: AccessSection.kind.read(reader).map(RouteAccess.restricted)
            case .scalar(let text, _):
                reader.refuse("open, or a section of who may", hint: NearMatch.closest(to: text, among: ["open"]))
            case .sequence: reader.refuse("open, or a section of who may")
            }
        },
        write: { _ in "" }
    )
}

/// The keys of `routes[].access`.
enum AccessSection {
    static let organizations = Setting(
        "organizations",
        ValueKind.organizations,
        .required,
        "Whose apps: `any`, or a list."
    )
    static let credentials = Setting(
        "credentials",
        ValueKind.list(of: ValueKind.credential, atLeast: 1),
        .required,
        "What may vouch for an app; one of them is enough. `person`: a person's token alone, as the bearer."
    )
    static let minimumTrust = Setting(
        "min_trust",
        ValueKind<Trust>.choice,
        .optional,
        "Least trust of an attested token."
    )
    static let person = Setting(
        "person",
        ValueKind<PersonRule>.choice,
        .standard(.none),
        "Whether a person's token must, may or shall not count beside it."
    )

    static let schema = SectionSchema(
        "routes[].access",
        [organizations.row, credentials.row, minimumTrust.row, person.row]
    )

    static let kind = ValueKind<AccessRules>.section(schema) { section in
        let organizations = section.value(organizations)
        let credentials = section.value(credentials)
        let minimumTrust = section.value(minimumTrust)
        guard let person = section.value(person), let organizations, let credentials else { return nil }
        let kinds = CredentialKinds(credentials)
        if minimumTrust != nil, !kinds.carriesTrust {
            section.report(
                "min_trust has no effect: only app, session and run tokens carry trust, and the route takes none",
                at: "min_trust"
            )
        }
        return AccessRules(
            organizations: organizations,
            credentials: kinds,
            minimumTrust: minimumTrust,
            person: person
        )
    }
}

extension ValueKind where Value == OrganizationRule {
    static let organizations = ValueKind(
        "`any` or list of organization",
        read: { reader in
            if case .scalar(let text, _) = reader.node.content {
                return text == "any"
                    ? .any
                    : reader.refuse(
                        "any, or a list of organizations",
                        hint: NearMatch.closest(to: text, among: ["any"])
                    )
            }
            let list = ValueKind<[OrganizationID]>.list(of: .organization, atLeast: 1)
            return list.read(reader).map(OrganizationRule.only)
        },
        write: { _ in "any" }
    )
}

extension ValueKind where Value == CredentialKind {
    /// What may vouch for an app; `person` is a person's own token as the bearer (APP-008).
    static let credential = ValueKind.choice
}
