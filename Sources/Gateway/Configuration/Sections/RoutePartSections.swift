// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Limits
import Transport

/// The keys of `routes[].match`.
enum MatchSection {
    static let hosts = Setting(
        "hosts",
        ValueKind.list(of: ValueKind.host, atLeast: 1),
        .optional,
        "Names; `*.example.com` takes one label. Left out: any host."
    )
    static let path = Setting(
        "path",
        ValueKind.requestPath,
        .standard("/"),
        "A prefix that ends at a segment: `/v1` and `/v1/` take `/v1/x`, never `/v1x`."
    )
    static let methods = Setting(
        "methods",
        ValueKind.list(of: ValueKind.method, atLeast: 1),
        .optional,
        "Left out: any method."
    )

    static let schema = SectionSchema("routes[].match", [hosts.row, path.row, methods.row])

    static let kind = ValueKind<RouteMatch>.section(schema) { section in
        let hosts = section.value(hosts)
        let methods = section.value(methods)
        guard let path = section.value(path) else { return nil }
        return RouteMatch(hosts: hosts ?? [], path: path, methods: methods ?? [])
    }
}

/// The keys of `routes[].sign_in`.
enum SignInSection {
    static let sendCode = Setting("send_code", ValueKind.requestPath, .optional, "Sends a code.")
    static let verify = Setting("verify", ValueKind.requestPath, .optional, "Takes a code.")
    static let guest = Setting("guest", ValueKind.requestPath, .optional, "Opens a guest session.")
    static let refresh = Setting("refresh", ValueKind.requestPath, .optional, "Renews a session.")

    static let tokens = Setting(
        "tokens",
        ValueKind<SessionTokenForm>.choice,
        .standard(.jwt),
        "What `data.token` is: a JWT of an issuer of kind `session`, or opaque, and then bound by the gateway."
    )
    static let sessionLife = Setting(
        "session_life",
        .duration(.seconds(1)...(.seconds(31 * 86_400))),
        .standard(.seconds(86_400)),
        "How long an opaque session counts."
    )
    static let refreshLife = Setting(
        "refresh_life",
        .duration(.seconds(1)...(.seconds(366 * 86_400))),
        .standard(.seconds(30 * 86_400)),
        "How long `data.refresh_token` renews sessions."
    )

    static let schema = SectionSchema(
        "routes[].sign_in",
        [sendCode.row, verify.row, guest.row, refresh.row, tokens.row, sessionLife.row, refreshLife.row]
    )

    static let kind = ValueKind<SignInSettings>.section(schema) { section in
        let sendCode = section.value(sendCode)
        let verify = section.value(verify)
        let guest = section.value(guest)
        let refresh = section.value(refresh)
        let tokens = section.value(tokens)
        let sessionLife = section.value(sessionLife)
        guard let refreshLife = section.value(refreshLife), let tokens, let sessionLife else { return nil }
        return SignInSettings(
            sendCode: sendCode,
            verify: verify,
            guest: guest,
            refresh: refresh,
            tokens: tokens,
            sessionLife: sessionLife,
            refreshLife: refreshLife
        )
    }
}

/// The keys of `routes[].cors`.
enum CORSSection {
    static let credentials = Setting(
        "credentials",
        .flag,
        .standard(false),
        "Whether pages may send cookies and read the answer."
    )
    static let maxAge = Setting(
        "max_age",
        .duration(.seconds(0)...(.seconds(86_400))),
        .standard(.seconds(600)),
        "How long a browser remembers a preflight."
    )
    static let allowHeaders = Setting(
        "allow_headers",
        ValueKind.list(of: ValueKind.fieldName),
        .standard([
            "accept", "authorization", "content-type", "idempotency-key", "x-app-id", "orgid", "appid",
            "x-client-authorization", "x-request-id",
        ]),
        "Fields a page may send."
    )
    static let exposeHeaders = Setting(
        "expose_headers",
        ValueKind.list(of: ValueKind.fieldName),
        .standard(["retry-after", "ratelimit", "ratelimit-policy", "sallyport-decision", "x-request-id"]),
        "Fields a page may read."
    )
    static let methods = Setting(
        "methods",
        ValueKind.list(of: ValueKind.method, atLeast: 1),
        .standard(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
        "Methods a page may use."
    )

    static let schema = SectionSchema(
        "routes[].cors",
        [credentials.row, maxAge.row, allowHeaders.row, exposeHeaders.row, methods.row]
    )

    static let kind = ValueKind<CORSPolicy>.section(schema) { section in
        let credentials = section.value(credentials)
        let maxAge = section.value(maxAge)
        let allowHeaders = section.value(allowHeaders)
        let exposeHeaders = section.value(exposeHeaders)
        guard let methods = section.value(methods), let credentials, let maxAge, let allowHeaders, let exposeHeaders
        else { return nil }
        return CORSPolicy(
            allowsCredentials: credentials,
            maxAge: maxAge,
            allowHeaders: allowHeaders,
            exposeHeaders: exposeHeaders,
            methods: methods
        )
    }
}

/// The keys of `routes[].limits[]` and of `listeners[].limits[]`.
enum LimitSection {
    static let name = Setting("name", ValueKind.name, .required, "Shown in `RateLimit` and in metrics.")
    static let per = Setting(
        "per",
        ValueKind.list(of: ValueKind<WindowDimension>.choice, atLeast: 1),
        .required,
        "What is counted by; several together count by their combination. IPv6 clients count by /64."
    )
    static let limit = Setting(
        "limit",
        .integer(WindowRule.limits),
        .required,
        "Most units in any interval of `window`."
    )
    static let window = Setting("window", .duration(WindowRule.windows), .required, "The length of the interval.")
    static let cost = Setting("cost", .integer(1...1_000_000), .standard(1), "Units of one request.")
    static let shadow = Setting("shadow", .flag, .standard(false), "Counts and reports, refuses nobody.")

    static let rows = [name.row, per.row, limit.row, window.row, cost.row, shadow.row]

    static func kind(at path: String) -> ValueKind<WindowRule> {
        .section(SectionSchema(path, rows), read: read)
    }

    private static func read(_ section: SectionReader) -> WindowRule? {
        let name = section.value(name)
        let per = section.value(per)
        let limit = section.value(limit)
        let window = section.value(window)
        let cost = section.value(cost)
        guard let shadow = section.value(shadow), let name, let per, let limit, let window, let cost else { return nil }
        if cost > limit {
            section.report("cost is larger than limit, so no request would ever pass", at: "cost", found: "\(cost)")
            return nil
        }
        if Set(per).count < per.count { section.report("a word is here twice", at: "per") }
        return WindowRule(name: name, per: per, limit: limit, window: window, cost: cost, isShadow: shadow)
    }
}

/// The keys of `routes[].clients`.
enum ClientSection {
    static let allow = Setting(
        "allow",
        ValueKind.list(of: ValueKind.addressRange),
        .standard([]),
        "Only these ranges. Empty: any."
    )
    static let deny = Setting(
        "deny",
        ValueKind.list(of: ValueKind.addressRange),
        .standard([]),
        "Never these, whatever `allow` says."
    )

    static let schema = SectionSchema("routes[].clients", [allow.row, deny.row])

    static let kind = ValueKind<ClientRanges>.section(schema) { section in
        let allow = section.value(allow)
        guard let deny = section.value(deny), let allow else { return nil }
        return ClientRanges(allow: allow, deny: deny)
    }
}

/// `routes[].timeouts` as written.
struct TimeoutOverrides: Sendable {
    var connect: Duration?
    var firstByte: Duration?
    var idle: Duration?
    var total: Duration?

    /// The upstream's deadlines with these in their place.
    func over(_ standard: UpstreamTimeoutSettings) -> UpstreamTimeoutSettings {
        UpstreamTimeoutSettings(
            connect: connect ?? standard.connect,
            firstByte: firstByte ?? standard.firstByte,
            idle: idle ?? standard.idle,
            total: total ?? standard.total
        )
    }
}

/// The keys of `routes[].timeouts`.
enum RouteTimeoutSection {
    static let connect = optional(UpstreamTimeoutSection.connect)
    static let firstByte = optional(UpstreamTimeoutSection.firstByte)
    static let idle = optional(UpstreamTimeoutSection.idle)
    static let total = optional(UpstreamTimeoutSection.total)

    private static func optional(_ setting: Setting<Duration>) -> Setting<Duration> {
        Setting(setting.name, setting.kind, .optional, "Left out: the upstream's.")
    }

    static let schema = SectionSchema("routes[].timeouts", [connect.row, firstByte.row, idle.row, total.row])

    static let kind = ValueKind<TimeoutOverrides>.section(schema) { section in
        TimeoutOverrides(
            connect: section.value(connect),
            firstByte: section.value(firstByte),
            idle: section.value(idle),
            total: section.value(total)
        )
    }
}

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
