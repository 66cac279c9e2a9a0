// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
package import Transport

/// How long a change waits until every worker has applied it: 5 s unless the request says otherwise.
enum ConfirmationWait {
    @TaskLocal static var time = Duration.seconds(5)
}

/// The admin API: reads and changes the registry, and asks about the gateway.
///
/// Isolated to the Reactor.
///
/// It trusts whoever may open its socket; `by` of every change is that peer's user. Over TCP a token says who it is.
@Reactor
package final class AdminRoutes {
    /// One route: the method, the path with `*` for a variable segment, and what answers it.
    struct Route {
        let method: String
        let path: [String]
        let answer: @Reactor (AdminRoutes, AdminRequest) async throws(AdminProblem) -> AdminAnswer

        init(
            _ method: String,
            _ path: String,
            _ answer: @escaping @Reactor (AdminRoutes, AdminRequest) async throws(AdminProblem) -> AdminAnswer
        ) {
            self.method = method
            self.path = path.split(separator: "/").map(String.init)
            self.answer = answer
        }

        /// Whether it asks the gateway itself and nothing in Redis.
        var isAboutProcesses: Bool { path == ["status"] || path == ["reload"] }
    }

    let registry: RegistryStore
    let peppers: PepperRing
    let gateway: any GatewayControl
    let keyring: KeyringKeeper
    let issuers: IssuerKeyFetch
    let configuration: () -> Configuration
    /// The clock that judges, and that dates tokens.
    let clock: StoreClock

    init(
        registry: RegistryStore,
        peppers: PepperRing,
        gateway: any GatewayControl,
        keyring: KeyringKeeper,
        issuers: IssuerKeyFetch,
        configuration: @escaping () -> Configuration,
        clock: StoreClock
    ) {
        self.registry = registry
        self.peppers = peppers
        self.gateway = gateway
        self.keyring = keyring
        self.issuers = issuers
        self.configuration = configuration
        self.clock = clock
    }

    private static let table: [Route] =
        gatewayRoutes + organizationRoutes + appRoutes + siteRoutes + keyRoutes + nativeRoutes + policyRoutes
        + labTrustRoutes + playRoutes + vouchRoutes + keyringRoutes + issuerRoutes + revocationRoutes + secretRoutes
        + tokenRoutes + adminTokenRoutes + appEngineRoutes + deviceRoutes + signInRoutes + historyRoutes + applyRoutes

    /// Answers one request; never fails, a problem is an answer too.
    package func answer(_ request: AdminRequest) async -> AdminAnswer {
        let matching = Self.table.filter { Self.matches($0.path, request.path) }
        guard !matching.isEmpty else {
            return AdminProblem.notFound("there is no /admin/v1/\(request.path.joined(separator: "/"))").answer
        }
        guard let route = matching.first(where: { $0.method == request.method }) else {
            let methods = matching.map(\.method).joined(separator: ", ")
            let message = "this resource takes \(methods)"
            return AdminProblem(status: 405, code: "method_not_allowed", message: message).answer
        }
        // Whoever asks right after the start asks for what is not there yet, and would be told to come again.
        if !route.isAboutProcesses { await keyring.becomeUsable() }
        do throws(AdminProblem) {
            let wait = try request.wait ?? ConfirmationWait.time
            return try await ConfirmationWait.$time.withValue(wait) { () async -> Result<AdminAnswer, AdminProblem> in
                do throws(AdminProblem) {
                    return .success(try await route.answer(self, try await permitted(request)))
                } catch {
                    return .failure(error)
                }
            }.get()
        } catch {
            return (request.mayChange ? error.warning : error).answer
        }
    }

    /// Milliseconds since 1970.
    func now() -> Int64 { clock.now }

    private static func matches(_ pattern: [String], _ path: [String]) -> Bool {
        pattern.count == path.count && zip(pattern, path).allSatisfy { $0 == "*" || $0 == $1 }
    }

    // MARK: What routes share

    /// The app that a segment names: App ID, record id, `organization/username`, or a username that is unique.
    func reference(_ name: String) async throws(AdminProblem) -> RegistryStore.AppReference {
        if name.hasPrefix("app_") { return .appID(AppID(rawValue: name)) }
        if name.utf8.count == 24, name.utf8.allSatisfy(\.isLowerHex) { return .record(RecordID(rawValue: name)) }
        let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
        if parts.count == 2 { return .username(OrganizationID(rawValue: parts[0]), parts[1]) }
        let listing = try await allApps()
        let named = listing.elements.filter { $0.username == name }
        guard named.count <= 1 else {
            throw .conflict(
                "ambiguous_app",
                "several organizations have an app \"\(name)\"",
                nextSteps: named.map { "--app \($0.organization.rawValue)/\(name)" }
            )
        }
        guard let app = named.first else {
            var problem = AdminProblem.noApp(name)
            problem.details = listing.problems.map { "\($0.what) cannot be read: \($0.reason)" }
            throw problem
        }
        return .record(app.recordID)
    }

    /// The app that a segment names.
    func app(_ name: String) async throws(AdminProblem) -> AppRecord {
        let reference = try await reference(name)
        guard let app = try await registryCall({ () async throws(RegistryError) in try await registry.app(reference) })
        else { throw .noApp(name) }
        return app
    }

    /// Changes an app and waits for the workers; `describe` words the answer, `promise` what follows once all know.
    func change(
        app name: String,
        by: String,
        promise: @autoclosure () -> String? = nil,
        _ body: (inout AppRecord) throws(RegistryError) -> [HistoryEvent],
        describe: (AppRecord, Bool) -> [(String, JSONValue)]
    ) async throws(AdminProblem) -> AdminAnswer {
        let reference = try await reference(name)
        let outcome = try await registryCall { () async throws(RegistryError) in
            try await registry.change(app: reference, by: by, body)
        }
        let members = describe(outcome.record, outcome.sequence != nil)
        return AdminAnswer(.object(try await told(members, outcome.sequence, promise: promise())))
    }

    /// Calls the registry and words its failures.
    func registryCall<Value: Sendable>(
        _ body: () async throws(RegistryError) -> Value
    ) async throws(AdminProblem) -> Value {
        do {
            return try await body()
        } catch {
            var problem = AdminProblem(error)
            // At night the reason is wanted, not only that it failed.
            if case .store = error { problem.details += gateway.unreadyReasons() }
            throw problem
        }
    }
}

extension AdminRequest {
    /// Whether it can change anything: what only reads is tried again without a thought.
    fileprivate var mayChange: Bool {
        method != "GET" && path != ["tokens", "inspect"] && body["dry_run"]?.bool != true
    }
}

extension AdminProblem {
    /// The problem of a request that may have changed something before the store fell silent.
    fileprivate var warning: AdminProblem {
        guard isUndecided else { return self }
        var problem = self
        problem.message += "; the change may have been made"
        problem.nextSteps = ["look again: sallyport history, sallyport status"]
        return problem
    }

    static func noApp(_ name: String) -> AdminProblem {
        AdminProblem(
            status: 404,
            code: "app_not_found",
            message: "there is no app \"\(name)\"",
            nextSteps: ["sallyport apps list"]
        )
    }

    /// Where to look for what is not there, by the code of its refusal.
    private static let lists = [
        "key_not_found": "sallyport keys list", "token_not_found": "sallyport admin-tokens list",
        "debug_token_not_found": "sallyport debug-tokens list",
    ]

    /// What a failure of the registry means to its caller.
    init(_ error: RegistryError) {
        switch error {
        case .store(let fault):
            self.init(
                status: 503,
                code: "state_unavailable",
                message: fault == .deadline ? "Redis did not answer in time" : "Redis: \(fault.description)",
                nextSteps: ["look again: sallyport status"]
            )
            isUndecided = fault == .deadline
        case .organizationNotFound:
            self = .notFound("there is no such organization", nextSteps: ["sallyport orgs list"])
        case .appNotFound:
            self = .notFound("there is no such app", nextSteps: ["sallyport apps list"])
        case .taken(let index, let value):
            self = .conflict(
                "taken",
                "\(index.words) \"\(value)\" belongs to another app",
                nextSteps: index == .key ? [] : ["sallyport apps show --app \(value)"]
            )
        case .exists:
            self = .conflict("exists", "it exists already")
        case .contended:
            self = .conflict("contended", "others kept changing the same record; try again")
        case .broken(let reason):
            self = .conflict("broken_record", "the record in the registry is broken: \(reason)")
        case .rejected(let code, let message):
            self = .conflict(code, message, nextSteps: Self.lists[code].map { [$0] } ?? [])
        }
    }
}

extension RegistryIndex {
    var words: String {
        switch self {
        case .appID: "the App ID"
        case .username: "the username"
        case .key: "the key id"
        }
    }
}

extension UInt8 {
    var isLowerHex: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self) }
}
