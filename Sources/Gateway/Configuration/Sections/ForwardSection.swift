// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Limits
import Transport

/// `routes[].forward` as written.
struct ForwardOverrides: Sendable {
    var authorization: Forwarding?
    var apiKey: Forwarding?
    var clientAuthorization: Forwarding?
    var host: HostForwarding
    var identity: Bool

    func policy(over standard: ForwardPolicy) -> ForwardPolicy {
        ForwardPolicy(
            keepsAuthorization: authorization.map { $0 == .keep } ?? standard.keepsAuthorization,
            keepsAPIKey: apiKey.map { $0 == .keep } ?? standard.keepsAPIKey,
            keepsClientAuthorization: clientAuthorization.map { $0 == .keep } ?? standard.keepsClientAuthorization,
            keepsHost: host == .client,
            signsIdentity: identity
        )
    }
}

/// Whether a field goes on to the upstream.
enum Forwarding: String, Sendable, CaseIterable {
    case keep, strip
}

/// Whose host name the upstream sees.
enum HostForwarding: String, Sendable, CaseIterable {
    case client, upstream
}

/// The keys of `routes[].forward`.
enum ForwardSection {
    static let authorization = Setting(
        "authorization",
        ValueKind<Forwarding>.choice,
        .optional,
        "Left out: kept by offlineid (it is the user's session), stripped by appengine and vouch."
    )
    static let apiKey = Setting("api_key", ValueKind<Forwarding>.choice, .optional, "Left out: stripped.")
    static let clientAuthorization = Setting(
        "client_authorization",
        ValueKind<Forwarding>.choice,
        .optional,
        "Left out: kept."
    )
    static let host = Setting(
        "host",
        ValueKind<HostForwarding>.choice,
        .standard(.client),
        "The name in `Host`: the client's, or the endpoint's own."
    )

    static let identity = Setting(
        "identity",
        .flag,
        .standard(false),
        "Adds `Sallyport-Identity`: what was judged as a JWT (ES256, `aud` the upstream's name), for upstreams that believe no bare field."
    )

    static let schema = SectionSchema(
        "routes[].forward",
        [authorization.row, apiKey.row, clientAuthorization.row, host.row, identity.row]
    )

    static let kind = ValueKind<ForwardOverrides>.section(schema) { section in
        let authorization = section.value(authorization)
        let apiKey = section.value(apiKey)
        let clientAuthorization = section.value(clientAuthorization)
        let identity = section.value(identity)
        guard let host = section.value(host), let identity else { return nil }
        return ForwardOverrides(
            authorization: authorization,
            apiKey: apiKey,
            clientAuthorization: clientAuthorization,
            host: host,
            identity: identity
        )
    }
}
