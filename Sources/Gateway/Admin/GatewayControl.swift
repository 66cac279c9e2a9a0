// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Encodings
package import Transport

/// What the admin API asks of the running gateway; in the control process this goes to the supervisor.
@Reactor
package protocol GatewayControl: AnyObject {
    /// Checks the file and has all workers take it.
    func reload() async -> ReloadOutcome
    /// The processes as the supervisor sees them; nil when it does not answer.
    func processes() async -> [ProcessStatus]?
    /// Why requests should not be sent here now; empty: ready.
    func unreadyReasons() -> [String]
    /// What runs out or is out of date, in sentences.
    var warnings: [String] { get }
    /// Whose word counts for native proofs.
    var trustStatus: JSONValue { get }
    /// The facts of the present configuration.
    var configurationStatus: ConfigurationStatus { get }
}

/// What a reload did.
package enum ReloadOutcome: Sendable, Equatable {
    /// So many workers serve the new configuration.
    case taken(workers: Int)
    /// The old set stays, for these reasons.
    case refused([String])
    /// The check passed, but some workers did not take it or did not answer.
    case partly([String])
}

/// One process of the gateway.
package struct ProcessStatus: Sendable, Equatable {
    package var name: String
    package var pid: Int
    package var state: String
    package var restarts: Int
    package var connections: Int?
}

extension ProcessStatus {
    /// Reads the supervisor's list, and adds the workers' open connections.
    static func list(_ json: String, connections: [Int]) -> [ProcessStatus] {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: json, limits: .document)
        } catch {
            return []
        }
        return (value.array ?? []).map { child in
            let name = child["name"]?.string ?? ""
            let words = name.split(separator: " ")
            let worker = words.first == "worker" ? words.last.flatMap { Int($0) } : nil
            return ProcessStatus(
                name: name,
                pid: child["pid"]?.integer ?? 0,
                state: child["state"]?.string ?? "",
                restarts: child["restarts"]?.integer ?? 0,
                connections: worker.flatMap { connections.indices.contains($0) ? connections[$0] : nil }
            )
        }
    }
}

/// When which configuration was taken.
package struct ConfigurationStatus: Sendable, Equatable {
    package var path: String
    package var redis: String
    /// Milliseconds since 1970.
    package var startedAt: Int64
    package var takenAt: Int64
    /// Nil: the last reload was taken, or there was none.
    package var refusedAt: Int64?
}

extension AdminRoutes {
    /// A moment as answers show it.
    func text(_ milliseconds: Int64) -> String { InternetTime.text(seconds: milliseconds / 1_000) }

    static let gatewayRoutes: [Route] = [
        Route("GET", "status") { routes, _ async throws(AdminProblem) in await routes.status() },
        Route("POST", "reload") { routes, _ async throws(AdminProblem) in try await routes.reload() },
    ]

    private func status() async -> AdminAnswer {
        let configuration = gateway.configurationStatus
        let reasons = gateway.unreadyReasons()
        var processes: [JSONValue] = []
        for process in await gateway.processes() ?? [] {
            processes.append(
                .object([
                    ("name", .string(process.name)), ("pid", .integer(process.pid)), ("state", .string(process.state)),
                    ("restarts", .integer(process.restarts)),
                    ("connections", process.connections.map(JSONValue.integer) ?? .null),
                ])
            )
        }
        let refused = configuration.refusedAt.map { "refused at \(text($0)); the old set serves" }
        return AdminAnswer(
            .object([
                ("version", .string(Version.text)), ("ready", .bool(reasons.isEmpty)), ("reasons", .texts(reasons)),
                ("configuration", .string(configuration.path)), ("redis", .string(configuration.redis)),
                ("started_at", .string(text(configuration.startedAt))),
                ("last_reload", .string(refused ?? "taken at \(text(configuration.takenAt))")),
                ("processes", .array(processes)), ("trust", gateway.trustStatus),
                ("warnings", .texts(gateway.warnings)),
            ])
        )
    }

    private func reload() async throws(AdminProblem) -> AdminAnswer {
        switch await gateway.reload() {
        case .taken(let workers):
            return AdminAnswer(.object([("ok", .bool(true)), ("workers", .integer(workers))]))
        case .refused(let problems):
            throw AdminProblem(
                status: 422,
                code: "configuration_invalid",
                message: "the old configuration stays: \(problems.count) problem\(problems.count == 1 ? "" : "s")",
                details: problems
            )
        case .partly(let faults):
            throw AdminProblem(
                status: 500,
                code: "reload_incomplete",
                message: "the old configuration stays: the file is right, but not every worker took it",
                details: faults,
                nextSteps: ["sallyport status", "sallyport reload"]
            )
        }
    }
}
