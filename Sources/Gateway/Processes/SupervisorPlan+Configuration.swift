// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

/// What `sallyport run` was asked for.
package struct GatewayStart {
    package var configuration: Configuration
    /// The absolute path of the file.
    package var path: String
    /// Overrides the file's `workers`.
    package var workers: Int?
    /// All roles in one process.
    package var isSingle: Bool

    package init(configuration: Configuration, path: String, workers: Int?, isSingle: Bool) {
        self.configuration = configuration
        self.path = path
        self.workers = workers
        self.isSingle = isSingle
    }
}

extension SupervisorPlan {
    /// Takes from the configuration what only a restart can change.
    package init(_ start: GatewayStart, environment: [String: String]) throws(ProcessFault) {
        let configuration = start.configuration
        let account = try Account.toDropTo(configuration.user)
        var listeners: [Address] = []
        for listener in configuration.listeners { listeners.append(try Self.address(listener.address)) }
        var metrics: Address?
        if let settings = configuration.metrics { metrics = try Self.address(settings.address) }
        var adminAddress: Address?
        if case .tcp(let host, let port) = configuration.admin.address {
            adminAddress = Address(host: host, port: port)
        }
        self.init(
            configuration: start.path,
            workers: start.isSingle ? 1 : start.workers ?? configuration.workers.count,
            listeners: listeners,
            adminSocket: configuration.adminSocket,
            adminAddress: adminAddress,
            metrics: metrics,
            stateDirectory: configuration.state.directory,
            account: account,
            drain: configuration.timeouts.drain,
            redis: configuration.state.redis == .embedded,
            log: Log(
                format: LogFormat.chosen(environment),
                role: start.isSingle ? "gateway" : "supervisor",
                minimum: configuration.log.level.minimum
            )
        )
    }

    private static func address(_ address: ConfiguredAddress) throws(ProcessFault) -> Address {
        switch address {
        case .tcp(let host, let port): return Address(host: host, port: port)
        case .unix(let path):
            throw ProcessFault("cannot listen on unix:\(path): listeners and metrics take TCP addresses")
        }
    }
}

extension Configuration {
    /// The Unix socket of the admin API: the configured one, and beside a TCP address the usual one.
    package var adminSocket: String {
        switch admin.address {
        case .unix(let path): path
        case .tcp: "\(state.directory)/admin.sock"
        }
    }
}

extension WorkerCount {
    /// As a number; automatic is one for each processor that this process may use.
    package var count: Int {
        switch self {
        case .exactly(let count): count
        case .automatic: max(1, min(256, Int(sysconf(CInt(_SC_NPROCESSORS_ONLN)))))
        }
    }
}

/// How lifecycle lines look: text for people at a terminal, JSON where `SALLYPORT_LOG=json`.
enum LogFormat {
    static func chosen(_ environment: [String: String]) -> Log.Format {
        environment["SALLYPORT_LOG"].flatMap(Log.Format.init(rawValue:)) ?? .text
    }
}

extension LogLevel {
    /// The least urgent line that is written.
    var minimum: Log.Level {
        switch self {
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
