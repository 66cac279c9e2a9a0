// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Transport

/// The keys of `issuers[]`.
enum IssuerSection {
    static let name = Setting("name", ValueKind.name.located, .required, "Appears in logs and metrics.")
    static let issuer = Setting("issuer", ValueKind.text, .required, "The exact `iss` of its tokens.")
    static let audiences = Setting(
        "audiences",
        ValueKind.list(of: ValueKind.text, atLeast: 1),
        .required,
        "One of them must be in `aud`."
    )
    static let keys = Setting("keys", IssuerKeySection.kind, .required, "Where its keys come from.")
    static let algorithms = Setting(
        "algorithms",
        ValueKind.list(of: ValueKind<TokenAlgorithm>.choice, atLeast: 1),
        .required,
        "The only ones taken (RFC 8725)."
    )
    static let organizations = Setting(
        "organizations",
        ValueKind.list(of: ValueKind.organization, atLeast: 1),
        .required,
        "The only organizations whose apps may be used with its tokens."
    )
    static let kind = Setting("kind", ValueKind<IssuerKind>.choice, .required, "What its tokens stand for.")
    static let claims = Setting("claims", ClaimSection.kind, .implied, "Which claims are read.")
    static let privateNetworks = Setting(
        "private_networks",
        ValueKind.list(of: ValueKind.addressRange),
        .standard([]),
        "Private ranges where its key server may live; others are refused when connecting."
    )

    static let schema = SectionSchema(
        "issuers[]",
        [
            name.row, issuer.row, audiences.row, keys.row, algorithms.row, organizations.row, kind.row, claims.row,
            privateNetworks.row,
        ]
    )

    static let section = ValueKind<Located<IssuerSettings>>.section(schema) { section in
        let name = section.value(name)
        let issuer = section.value(issuer)
        let audiences = section.value(audiences)
        let keys = section.value(keys)
        let algorithms = section.value(algorithms)
        let organizations = section.value(organizations)
        let kind = section.value(kind)
        let claims = section.value(claims)
        if let keys, let algorithms { check(keys.source, algorithms, section) }
        if let kind, let claims, kind == .app, claims.app == nil {
            section.report("tokens of apps need claims.app, the claim that holds the App ID", at: "kind")
        }
        guard let networks = section.value(privateNetworks), let name, let issuer, let audiences, let keys,
            let algorithms, let organizations, let kind, let claims
        else { return nil }
        let settings = IssuerSettings(
            name: name.value,
            issuer: issuer,
            audiences: audiences,
            keys: keys.source,
            algorithms: algorithms,
            organizations: organizations,
            kind: kind,
            personClaim: claims.person,
            appClaim: claims.app ?? (kind == .session ? ClaimSection.sessionApp : nil),
            trustClaim: kind == .session ? claims.trust : nil,
            privateNetworks: networks,
            keyAuthorities: keys.authorities
        )
        return Located(value: settings, position: name.position, path: name.path)
    }

    /// A secret signs HS256 and nothing else; a key set never does (RFC 8725 2.1).
    private static func check(_ keys: IssuerKeySource, _ algorithms: [TokenAlgorithm], _ section: SectionReader) {
        switch keys {
        case .secret where algorithms != [.hs256]:
            section.report("a shared secret goes with algorithms: [HS256] and nothing else", at: "algorithms")
        case .url where algorithms.contains(.hs256), .file where algorithms.contains(.hs256):
            section.report("HS256 needs keys.hs256, never a key set", at: "algorithms")
        case .file(let path):
            let set = Files.read(path, limit: JSONWebKeySet.maximumBytes).map { bytes in
                Result { () throws(KeySetProblem) in try JSONWebKeySet.parse(bytes, algorithms: algorithms) }
            }
            guard case .success(.failure(let problem)) = set else { return }
            section.report("\(path) is no key set for these algorithms: \(problem.rawValue)", at: "keys")
        case .url, .secret: break
        }
    }
}

/// The keys of `issuers[].keys`.
enum IssuerKeySection {
    static let url = Setting("jwks_url", ValueKind.httpsURL, .optional, "Key set, fetched by the control process.")
    static let file = Setting("jwks_file", ValueKind.readablePath, .optional, "Key set in a file.")
    static let secret = Setting("hs256", ValueKind.secret, .optional, "Shared secret of at least 32 bytes.")

    static let authorities = Setting(
        "ca",
        ValueKind.authorities,
        .optional,
        "PEM file of the authorities to trust for jwks_url. Left out: the system's."
    )

    /// As written.
    struct Keys: Sendable {
        var source: IssuerKeySource
        var authorities: String?
    }

    static let schema = SectionSchema("issuers[].keys", [url.row, file.row, secret.row, authorities.row])

    static let kind = ValueKind<Keys>.section(schema) { section in
        if ["jwks_url", "jwks_file", "hs256"].count(where: section.has) != 1 {
            section.report("expected exactly one of jwks_url, jwks_file, hs256")
            return nil
        }
        let authorities = section.value(authorities)
        if section.has("ca"), !section.has("jwks_url") { section.report("ca is for jwks_url only", at: "ca") }
        if let url = section.value(url) {
            // What cannot be fetched is found out here, not by night.
            if WebURL(url) == nil { section.report("such an address cannot be fetched", at: "jwks_url") }
            return Keys(source: .url(url), authorities: authorities)
        }
        if let file = section.value(file) { return Keys(source: .file(path: file)) }
        guard let secret = section.value(secret) else { return nil }
        // RFC 7518 3.2: at least the length of the hash.
        if secret.bytes.count < 32 { section.report("an HS256 secret has at least 32 bytes", at: "hs256") }
        return Keys(source: .secret(secret))
    }
}

/// The keys of `issuers[].claims`.
enum ClaimSection {
    struct Claims: Sendable {
        var person: String
        var app: String?
        var trust: String
    }

    static let person = Setting("person", ValueKind.text, .standard("sub"), "The claim that holds the person's id.")
    static let app = Setting(
        "app",
        ValueKind.text,
        .optional,
        "The claim that holds the App ID. Needed for `app`; left out, `app_id` for `session`."
    )
    static let trust = Setting(
        "trust",
        ValueKind.text,
        .standard("app_trust"),
        "The claim of a session that says what its sign-in proved, as `Sallyport-Trust` told it; without it a session counts for nothing."
    )

    /// Where a session names its app unless the file says otherwise (dialects.md A.5).
    static let sessionApp = "app_id"

    static let schema = SectionSchema("issuers[].claims", [person.row, app.row, trust.row])

    static let kind = ValueKind<Claims>.section(schema) { section in
        let app = section.value(app)
        let trust = section.value(trust)
        guard let person = section.value(person), let trust else { return nil }
        return Claims(person: person, app: app, trust: trust)
    }
}
