// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Gateway

/// Finds the gateway's file, and through it the admin socket.
enum ConfigurationFile {
    /// Where the file is looked for when nobody names it.
    static let places = ["sallyport.yaml", "config/sallyport.yaml", "/etc/sallyport/sallyport.yaml"]

    /// The file that the invocation means.
    static func path(for invocation: Invocation) throws(CommandFailure) -> String {
        if let named = invocation["--config"] ?? invocation.environment["SALLYPORT_CONFIG"], !named.isEmpty {
            return named
        }
        if let found = places.first(where: { Files.exists($0) }) { return found }
        throw CommandFailure(
            exit: .usage,
            code: "no_configuration",
            message: "no configuration file: looked for \(places.joined(separator: ", "))",
            nextSteps: ["give --config FILE or set SALLYPORT_CONFIG"]
        )
    }

    /// Reads the file with the code that reload uses; `surroundings`: and looks at what a start would find.
    static func load(
        for invocation: Invocation,
        surroundings: Surroundings = .unseen
    ) throws(CommandFailure) -> Configuration {
        let path = try path(for: invocation)
        do {
            return try Configuration.load(path: path, environment: invocation.environment, surroundings: surroundings)
        } catch {
            throw problems(error, in: path)
        }
    }

    /// As `load`, for a file that may be another machine's or another user's: what is wrong only here is returned.
    static func check(
        for invocation: Invocation
    ) throws(CommandFailure) -> (configuration: Configuration, warnings: [String]) {
        let path = try path(for: invocation)
        do {
            let (configuration, warnings) = try Configuration.check(path: path, environment: invocation.environment)
            return (configuration, warnings.map(\.description))
        } catch {
            // Errors first; where nothing is wrong here there is no warning.
            let wrong = ConfigurationProblems(error.problems.filter { !$0.isOfThisMachine })
            var failure = problems(wrong, in: path)
            failure.details += error.problems.filter(\.isOfThisMachine).map { warning("\($0)") }
            throw failure
        }
    }

    /// How a problem of this machine is told.
    static func warning(_ problem: String) -> String { "warning, on this machine: \(problem)" }

    /// The path of the admin socket: `SALLYPORT_ADMIN` or what the file says.
    static func adminSocket(for invocation: Invocation) throws(CommandFailure) -> String {
        if let named = invocation.environment["SALLYPORT_ADMIN"], !named.isEmpty {
            return named.hasPrefix("unix:") ? String(named.dropFirst(5)) : named
        }
        return try load(for: invocation).adminSocket
    }

    private static func problems(_ error: ConfigurationProblems, in path: String) -> CommandFailure {
        let count = error.problems.count
        return CommandFailure(
            exit: .refused,
            code: "configuration_invalid",
            message: "\(path): \(count) problem\(count == 1 ? "" : "s")",
            details: error.problems.map(\.description)
        )
    }
}
