// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// What one child process is started for.
package enum ChildRole: Sendable, Equatable {
    case worker(Int)
    case control
    /// Becomes `redis-server` after it has dropped to the configured user.
    case redis

    /// The word in logs, in metrics and in the process's name.
    package var name: String {
        switch self {
        case .worker(let index): "worker \(index)"
        case .control: "control"
        case .redis: "redis"
        }
    }

    /// The role's label in metrics.
    package var label: String {
        switch self {
        case .worker: "worker"
        case .control: "control"
        case .redis: "redis"
        }
    }
}

/// What the supervisor tells a child at start, by the environment: names and descriptor numbers, never a secret.
package struct ChildOrder: Sendable, Equatable {
    package var role: ChildRole
    /// The supervisor's process id: a child whose parent is another has been left alone and ends.
    package var supervisor: Int32
    package var configuration: String
    package var workers: Int
    package var stateDirectory: String
    /// The user to drop to.
    package var account: String?
    /// The sockets of each listener; control has none of them.
    package var listeners: [ListenerSockets]
    /// The socket pair to the supervisor.
    package var channel: CInt
    /// Listening sockets of control.
    package var admin: CInt?
    package var adminNetwork: CInt?
    package var metrics: CInt?
    /// The command line of `redis-server`, for its role.
    package var command: [String]

    /// The environment variable that carries an order.
    package static let variable = "SALLYPORT_CHILD"

    /// The order as one line of JSON.
    package var text: String {
        var writer = JSONWriter()
        writer.beginObject()
        switch role {
        case .worker(let index): writer.member("worker", index)
        case .control: writer.member("control", true)
        case .redis: writer.member("redis", true)
        }
        writer.member("supervisor", Int(supervisor))
        writer.member("configuration", configuration)
        writer.member("workers", workers)
        writer.member("state", stateDirectory)
        writer.member("account", account)
        writer.member("channel", Int(channel))
        writer.member("admin", admin.map(Int.init))
        writer.member("admin_network", adminNetwork.map(Int.init))
        writer.member("metrics", metrics.map(Int.init))
        writer.member("command", command)
        writer.name("listeners")
        writer.beginArray()
        for listener in listeners {
            writer.beginObject()
            writer.member("address", listener.address)
            writer.name("sockets")
            writer.beginArray()
            for descriptor in listener.descriptors { writer.value(Int(descriptor)) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.text
    }

    package init(
        role: ChildRole,
        supervisor: Int32,
        configuration: String,
        workers: Int,
        stateDirectory: String,
        account: String?,
        listeners: [ListenerSockets],
        channel: CInt,
        admin: CInt? = nil,
        adminNetwork: CInt? = nil,
        metrics: CInt? = nil,
        command: [String] = []
    ) {
        self.role = role
        self.supervisor = supervisor
        self.configuration = configuration
        self.workers = workers
        self.stateDirectory = stateDirectory
        self.account = account
        self.listeners = listeners
        self.channel = channel
        self.admin = admin
        self.adminNetwork = adminNetwork
        self.metrics = metrics
        self.command = command
    }

    /// Reads what `text` wrote; nil when it is anything else.
    package init?(parsing text: String) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: text, limits: .document)
        } catch {
            return nil
        }
        guard let supervisor = value["supervisor"]?.integer, let configuration = value["configuration"]?.string,
            let workers = value["workers"]?.integer, let state = value["state"]?.string,
            let channel = value["channel"]?.integer, let role = Self.role(in: value)
        else { return nil }
        self.init(
            role: role,
            supervisor: Int32(truncatingIfNeeded: supervisor),
            configuration: configuration,
            workers: workers,
            stateDirectory: state,
            account: value["account"]?.string,
            listeners: (value["listeners"]?.array ?? []).map(Self.listener),
            channel: CInt(truncatingIfNeeded: channel),
            admin: value["admin"]?.integer.map { CInt(truncatingIfNeeded: $0) },
            adminNetwork: value["admin_network"]?.integer.map { CInt(truncatingIfNeeded: $0) },
            metrics: value["metrics"]?.integer.map { CInt(truncatingIfNeeded: $0) },
            command: (value["command"]?.array ?? []).compactMap(\.string)
        )
    }

    private static func role(in value: JSONValue) -> ChildRole? {
        if let index = value["worker"]?.integer { return .worker(index) }
        if value["control"] != nil { return .control }
        return value["redis"] == nil ? nil : .redis
    }

    private static func listener(_ value: JSONValue) -> ListenerSockets {
        ListenerSockets(
            address: value["address"]?.string ?? "",
            descriptors: (value["sockets"]?.array ?? []).compactMap(\.integer).map { CInt(truncatingIfNeeded: $0) }
        )
    }
}
