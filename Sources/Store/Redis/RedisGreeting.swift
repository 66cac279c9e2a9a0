// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry

extension StoreError {
    /// The server forgot a script: it was restarted or flushed.
    var isMissingScript: Bool {
        guard case .refused(let text) = self else { return false }
        return text.hasPrefix("NOSCRIPT")
    }

    /// The server is no longer one that we can use, or holds our registry no more; another may be there when we connect
    /// again.
    var endsConnection: Bool {
        guard case .refused(let text) = self else { return false }
        return text.hasPrefix("READONLY") || text.hasPrefix("LOADING") || text.hasPrefix("MASTERDOWN")
            || text.hasPrefix("NOAUTH") || text.hasPrefix("LOST") || isOfCluster
    }

    /// One node of a cluster sends us to another, or says that the cluster is not whole: half
    /// of the keys would be here.
    var isOfCluster: Bool {
        guard case .refused(let text) = self else { return false }
        return ["MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT", "TRYAGAIN"].contains { text.hasPrefix("\($0) ") }
    }
}

extension RedisEndpoint {
    /// What is said first on a new connection.
    func greeting(name: String) -> [[RedisArgument]] {
        var commands: [[RedisArgument]] = []
        if let password {
            commands.append(["AUTH"] + (user.map { [.text($0)] } ?? []) + [.text(password.exposed)])
        }
        if database != 0 { commands.append(["SELECT", .number(database)]) }
        commands.append(["CLIENT", "SETNAME", .text(name)])
        // Answers LOADING while the data set is read, which is no connection yet.
        commands.append(["PING"])
        return commands
    }
}
