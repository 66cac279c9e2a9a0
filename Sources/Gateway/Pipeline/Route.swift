// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Limits
import Telemetry
import Transport

/// One route, compiled from its settings: what is decided once is bytes and sets here, so that a request only looks.
@Reactor
final class Route {
    let settings: RouteSettings
    let hosts: [[UInt8]]
    let path: [UInt8]
    let methods: [[UInt8]]
    let pool: UpstreamPool
    let budget: BudgetRules
    /// Known fields of a request that do not go to the upstream.
    let withheldFields: KnownFieldSet
    /// Names of other request fields that do not go to the upstream, lower case.
    let removedRequestFields: [[UInt8]]
    /// Field lines that every request gets.
    let addedRequestFields: [UInt8]
    /// Known fields of an answer that do not go to the client.
    let withheldAnswerFields: KnownFieldSet
    let removedAnswerFields: [[UInt8]]
    let addedAnswerFields: [UInt8]
    /// What follows `Access-Control-Allow-Origin: <origin>` on answers for a listed origin.
    let corsFields: [UInt8]
    /// `Vary` on every answer: what decided that it was given (RFC 9110 12.5.5); empty where nothing did.
    let vary: [HeaderField]
    let varyLine: [UInt8]
    let metrics: RouteMetrics
    /// What the access log says of the route.
    let logMember: [UInt8]
    /// The app that requests speak for when they name none.
    let app: String?
    let bodyTooLarge: Refusal
    let dialect: Dialect
    let access: RouteAccess
    /// Nobody is asked for a credential.
    let isOpen: Bool
    /// Whether a person's token is asked for.
    let personRule: PersonRule
    /// The sign-in paths with the endpoint that each is; mostly none.
    let signInPaths: [(path: [UInt8], endpoint: SignInEndpoint)]
    /// What lets a sign-in pass by its head alone: keys and origins in dialect A, nothing but app tokens in dialect C.
    let signInAccess: RouteAccess
    /// The least trust that the route takes.
    let minimumTrust: Trust?

    init(_ settings: RouteSettings, pool: UpstreamPool, metrics: RouteMetrics) {
        self.settings = settings
        self.pool = pool
        self.metrics = metrics
        self.logMember = JSONLine.member(AccessEntry.routeMember, settings.name)
        self.app = settings.app?.rawValue
        self.bodyTooLarge = Refusal(
            .payloadTooLarge,
            nextSteps: ["Send at most \(settings.body.bytes) bytes, or raise body: of route \(settings.name)."]
        )
        signInPaths = settings.signIn?.paths(in: settings.dialect) ?? []
        signInAccess = Self.signInAccess(settings)
        dialect = settings.dialect
        access = settings.access
        isOpen = settings.access == .open
        if case .restricted(let rules) = settings.access {
            personRule = rules.person
            minimumTrust = rules.minimumTrust
        } else {
            personRule = .none
            minimumTrust = nil
        }
        hosts = settings.match.hosts.map { Array($0.utf8) }
        path = Array(settings.match.path.utf8)
        methods = settings.match.methods.map { Array($0.utf8) }
        budget = BudgetRules(settings.limits)

        var withheld = KnownFieldSet.neverForwarded.union(UpstreamRequest.rewritten)
        if !settings.forward.keepsAuthorization { withheld.insert(.authorization) }
        if !settings.forward.keepsAPIKey { withheld.insert(.xAPIKey) }
        if !settings.forward.keepsClientAuthorization { withheld.insert(.xClientAuthorization) }
        withheldFields = withheld
        let request = settings.requestHeaders
        removedRequestFields = (request.removed + request.replaced.map(\.name)).map { Array($0.utf8) }
        addedRequestFields = Self.lines(request.replaced)

        withheldAnswerFields = Self.corsAnswerFields
        let answer = settings.responseHeaders
        removedAnswerFields = (answer.removed + answer.replaced.map(\.name)).map { Array($0.utf8) }
        addedAnswerFields = Self.lines(answer.replaced)
        corsFields = Self.lines(settings.cors?.fixedAnswerFields.filter { $0 != CORSPolicy.vary } ?? [])
        let deciding = Self.decidingFields(settings).joined(separator: ", ")
        vary = deciding.isEmpty ? [] : [HeaderField(name: "vary", value: deciding)]
        varyLine = Self.lines(vary)
    }

    /// The sign-in endpoint that the request is for, if it is for one.
    func signInEndpoint(of exchange: Exchange) -> SignInEndpoint? {
        if signInPaths.isEmpty || exchange.request.method != .post { return nil }
        for (path, endpoint) in signInPaths {
            if let rewritten = exchange.facts.rewrittenPath {
                if rewritten == path { return endpoint }
            } else if exchange.request.pathEquals(path) {
                return endpoint
            }
        }
        return nil
    }

    private static func signInAccess(_ settings: RouteSettings) -> RouteAccess {
        guard case .restricted(var rules) = settings.access else { return settings.access }
        let kinds: [CredentialKind] =
            settings.dialect == .appengine ? [.appToken, .webToken, .serverToken, .debugToken] : [.apiKey, .origin]
        rules.credentials = CredentialKinds(rules.credentials.kinds.filter(kinds.contains))
        rules.takesAttestation = settings.dialect == .offlineid
        return .restricted(rules)
    }

    /// Whether the request is a guest's sign-in of dialect C.
    func isGuestSignIn(_ exchange: Exchange) -> Bool {
        settings.dialect == .appengine && signInEndpoint(of: exchange) == .guest
    }

    /// Whether the client's address may use the route; a denied range wins.
    func admits(_ client: IPAddress) -> Bool {
        if settings.clients.deny.contains(where: { $0.contains(client) }) { return false }
        return settings.clients.allow.isEmpty || settings.clients.allow.contains { $0.contains(client) }
    }

    /// The end of an exchange that begins now; nil: it may take as long as it moves.
    func deadline(from now: MonotonicInstant) -> MonotonicInstant? {
        settings.timeouts.total > .zero ? now.advanced(by: settings.timeouts.total) : nil
    }

    /// Whether path and method are this route's; the host has been compared already.
    func matches(path requested: Span<UInt8>, method: Span<UInt8>) -> Bool {
        guard requested.count >= path.count else { return false }
        for index in path.indices where requested[index] != path[index] { return false }
        // A prefix ends at a segment: /v1 takes /v1/x and not /v1x.
        if let last = path.last, last != UInt8(ascii: "/"), requested.count > path.count,
            requested[path.count] != UInt8(ascii: "/")
        {
            return false
        }
        if methods.isEmpty { return !Self.isEcho(method) }
        for candidate in methods where candidate.count == method.count {
            var index = 0
            while index < method.count, candidate[index] == method[index] { index += 1 }
            if index == method.count { return true }
        }
        return false
    }

    /// Whether a method has a server send back what it got: with the credentials, our fields and the identity in it.
    ///
    /// No route takes them. Fetch forbids pages both, and `TRACK` is what some servers call TRACE.
    nonisolated static func isEcho(_ method: Span<UInt8>) -> Bool {
        guard method.count == 5, method[0] == UInt8(ascii: "T") else { return false }
        for (index, byte) in "TRAC".utf8.enumerated() where method[index] != byte { return false }
        return method[4] == UInt8(ascii: "E") || method[4] == UInt8(ascii: "K")
    }

    /// What `Allow` says for routes that name no methods.
    nonisolated static let methodsTaken = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

    /// The upstream's own CORS fields: the gateway decides who may read an answer (architecture §4).
    private nonisolated static let corsAnswerFields: KnownFieldSet = [
        .accessControlAllowOrigin, .accessControlAllowCredentials, .accessControlAllowMethods,
        .accessControlAllowHeaders, .accessControlAllowPrivateNetwork, .accessControlExposeHeaders,
        .accessControlMaxAge,
    ]

    /// The fields of a request that the route judges by: a cache in front must not give one caller's answer to another.
    private static func decidingFields(_ settings: RouteSettings) -> [String] {
        guard case .restricted(let rules) = settings.access else { return settings.cors == nil ? [] : ["Origin"] }
        var names = ["Origin"]
        if rules.credentials.takesTokens { names.append("Authorization") }
        if rules.credentials.contains(.apiKey) { names.append("X-Api-Key") }
        if rules.person != .none { names.append("X-Client-Authorization") }
        switch settings.dialect {
        case .offlineid: names.append("X-App-Id")
        case .appengine: names += ["orgid", "appId"]
        case .vouch: names += ["X-Device-Id", "X-App-Version", "X-App-Platform"]
        }
        return names
    }

    private static func lines(_ fields: [HeaderField]) -> [UInt8] {
        fields.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }
    }
}
