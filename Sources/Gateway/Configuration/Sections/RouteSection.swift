// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Limits

/// `routes[]` as written: what refers to other sections is still a name.
struct RouteFile: Sendable {
    var name: Located<String>
    var upstream: String
    var timeouts: TimeoutOverrides
    var body: ByteCount?
    var settings: RouteSettings
}

/// The keys of `routes[]`.
enum RouteSection {
    static let name = Setting("name", ValueKind.name.located, .required, "Appears in logs, metrics and limits.")
    static let match = Setting(
        "match",
        MatchSection.kind.located,
        .required,
        "Which requests. The most specific route wins: exact host before wildcard, longer path, named methods."
    )
    static let upstream = Setting("upstream", ValueKind.upstreamName, .required, "Where they go.")
    static let dialect = Setting(
        "dialect",
        ValueKind<Dialect>.choice,
        .standard(.offlineid),
        "How requests name their app and how refusals look."
    )
    static let app = Setting("app", ValueKind.app, .optional, "The app of requests that name none.")
    static let access = Setting(
        "access",
        ValueKind.access.located,
        .required,
        "Who may: `open`, or a section. There is no standard value."
    )
    static let signIn = Setting("sign_in", SignInSection.kind, .optional, "Paths where people sign in to an app.")
    static let cors = Setting("cors", CORSSection.kind, .optional, "Lets pages on listed origins read the answers.")
    static let limits = Setting(
        "limits",
        ValueKind.list(of: LimitSection.kind(at: "routes[].limits[]")),
        .standard([]),
        "Windows that each request is counted in; all of them, or none."
    )
    static let requestHeaders = Setting(
        "request_headers",
        HeaderSection.kind(at: "routes[].request_headers"),
        .optional,
        "Changes to what the upstream gets."
    )
    static let responseHeaders = Setting(
        "response_headers",
        HeaderSection.kind(at: "routes[].response_headers"),
        .optional,
        "Changes to what the client gets."
    )
    static let clients = Setting("clients", ClientSection.kind, .implied, "Client addresses.")
    static let timeouts = Setting(
        "timeouts",
        RouteTimeoutSection.kind,
        .implied,
        "Instead of the upstream's."
    )
    static let body = Setting(
        "body",
        .byteCount(ByteCount(bytes: 0)...(.mebibytes(1 << 20))),
        .optional,
        "Most bytes of a request body. Left out: `http.body`."
    )
    static let paths = Setting(
        "paths",
        ValueKind<PathPolicy>.choice,
        .standard(.reject),
        "Paths that readers understand differently (`//`, `..`, `%2F`, `;x`): as they came, refused, or brought to one form where there is one (`%2F` and `;x` are refused). `raw` lets an upstream that decodes see what another route guards."
    )
    static let forward = Setting("forward", ForwardSection.kind, .implied, "What becomes of credentials.")
    static let webSocket = Setting(
        "websocket",
        .flag,
        .standard(true),
        "Whether WebSocket upgrades pass, judged as any request. No other upgrade does."
    )

    static let schema = SectionSchema(
        "routes[]",
        [
            name.row, match.row, upstream.row, dialect.row, app.row, access.row, signIn.row, cors.row, limits.row,
            requestHeaders.row, responseHeaders.row, clients.row, timeouts.row, body.row, paths.row, forward.row,
            webSocket.row,
        ]
    )

    static let kind = ValueKind<RouteFile>.section(schema) { section in
        let name = section.value(name)
        let match = section.value(match)
        let upstream = section.value(upstream)
        let access = section.value(access)
        let optional = Optionals(section)
        guard let limits = section.value(limits), let dialect = section.value(dialect), let name, let match,
            let upstream, let access, let clients = optional.clients, let timeouts = optional.timeouts,
            let paths = optional.paths, let forward = optional.forward, let webSocket = optional.webSocket
        else { return nil }
        check(access, limits, section)
        check(optional.signIn, in: dialect, section)
        return RouteFile(
            name: name,
            upstream: upstream,
            timeouts: timeouts,
            body: optional.body,
            settings: RouteSettings(
                name: name.value,
                match: match.value,
                upstream: 0,
                dialect: dialect,
                app: optional.app,
                access: access.value,
                signIn: optional.signIn,
                cors: optional.cors,
                limits: limits,
                requestHeaders: optional.requestHeaders,
                responseHeaders: optional.responseHeaders,
                clients: clients,
                timeouts: .pending,
                body: ByteCount(bytes: 0),
                paths: paths,
                forward: forward.policy(over: .standard(for: dialect)),
                allowsWebSocket: webSocket
            )
        )
    }

    /// The settings that may be left out; read in one go so that every problem is found.
    private struct Optionals {
        let app: AppID?
        let signIn: SignInSettings?
        let cors: CORSPolicy?
        let requestHeaders: HeaderEdits
        let responseHeaders: HeaderEdits
        let clients: ClientRanges?
        let timeouts: TimeoutOverrides?
        let body: ByteCount?
        let paths: PathPolicy?
        let forward: ForwardOverrides?
        let webSocket: Bool?

        init(_ section: SectionReader) {
            app = section.value(RouteSection.app)
            signIn = section.value(RouteSection.signIn)
            cors = section.value(RouteSection.cors)
            requestHeaders = section.value(RouteSection.requestHeaders) ?? .none
            responseHeaders = section.value(RouteSection.responseHeaders) ?? .none
            clients = section.value(RouteSection.clients)
            timeouts = section.value(RouteSection.timeouts)
            body = section.value(RouteSection.body)
            paths = section.value(RouteSection.paths)
            forward = section.value(RouteSection.forward)
            webSocket = section.value(RouteSection.webSocket)
        }
    }

    /// What a route says twice, or says without effect.
    private static func check(_ access: Located<RouteAccess>, _ limits: [WindowRule], _ section: SectionReader) {
        for (index, rule) in limits.enumerated() where limits[..<index].contains(where: { $0.name == rule.name }) {
            section.report("two limits of the route have the same name", at: "limits", found: rule.name)
        }
        if limits.count > WindowCharge.capacity {
            section.report(
                "a route has at most \(WindowCharge.capacity) limits",
                at: "limits",
                found: "\(limits.count) limits"
            )
        }
        guard case .open = access.value else { return }
        for key in ["app", "sign_in"] where section.has(key) {
            section.report("\(key) has no effect on an open route", at: key)
        }
        for rule in limits where !rule.per.allSatisfy({ $0 == .client || $0 == .route }) {
            section.report(
                "an open route knows no organization, app, key or person to count by; use client or route",
                at: "limits",
                found: rule.name
            )
        }
    }
}

extension RouteSection {
    /// Sign-in paths that the dialect does not have.
    private static func check(_ signIn: SignInSettings?, in dialect: Dialect, _ section: SectionReader) {
        guard let signIn else { return }
        let known = dialect.signInEndpoints
        if known.isEmpty {
            section.report("nobody signs in by a route of the dialect \(dialect.rawValue); leave it out", at: "sign_in")
        }
        for endpoint in SignInEndpoint.allCases where signIn.path(of: endpoint) != nil && !known.contains(endpoint) {
            guard !known.isEmpty else { continue }
            section.report(
                "the dialect \(dialect.rawValue) has no such sign-in path, only "
                    + known.map(\.rawValue).joined(separator: ", "),
                at: "sign_in",
                found: endpoint.rawValue
            )
        }
    }
}

extension ValueKind where Value == String {
    /// The name of an upstream of the same file.
    static let upstreamName = ValueKind(
        "name of an upstream",
        read: { reader in
            guard let text = reader.text("the name of an upstream") else { return nil }
            let names = reader.context.upstreamNames
            return names.contains(text)
                ? text
                : reader.refuse("the name of an upstream", hint: NearMatch.closest(to: text, among: names))
        },
        write: { $0 }
    )
}

extension UpstreamTimeoutSettings {
    /// A place-holder until the route's upstream is known.
    fileprivate static let pending = UpstreamTimeoutSettings(
        connect: .zero,
        firstByte: .zero,
        idle: .zero,
        total: .zero
    )
}
