// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The keys of `upstreams.NAME`.
enum UpstreamSection {
    static let endpoints = Setting(
        "endpoints",
        ValueKind.list(of: .endpoint, atLeast: 1),
        .required,
        "Equal servers, taken in turn. Names are looked up again every 30 s."
    )
    static let protocolSpoken = Setting(
        "protocol",
        ValueKind<UpstreamProtocol>.choice,
        .standard(.http11),
        "`h2` is for gRPC and for many requests over few connections: by ALPN to https endpoints, which must agree, at "
            + "once (h2c) to others. WebSockets go by `http/1.1` all the same."
    )
    static let tls = Setting("tls", UpstreamTLSSection.kind, .implied, "How https endpoints are verified.")
    static let timeouts = Setting("timeouts", UpstreamTimeoutSection.kind, .implied, "Deadlines; a route may override.")
    static let pool = Setting("pool", PoolSection.kind, .implied, "Keep-alive connections to each endpoint.")
    static let ejection = Setting(
        "ejection",
        EjectionSection.kind,
        .implied,
        "When an endpoint that fails is left alone."
    )

    static let schema = SectionSchema(
        "upstreams.*",
        [endpoints.row, protocolSpoken.row, tls.row, timeouts.row, pool.row, ejection.row]
    )

    static let kind = ValueKind<UpstreamSettings>.section(schema) { section in
        let endpoints = section.value(endpoints)
        let protocolSpoken = section.value(protocolSpoken)
        let tls = section.value(tls)
        let timeouts = section.value(timeouts)
        let pool = section.value(pool)
        guard let ejection = section.value(ejection), let endpoints, let protocolSpoken, let tls, let timeouts, let pool
        else { return nil }
        if section.has("tls"), !endpoints.contains(where: \.usesTLS) {
            section.report("tls has no effect: no endpoint is https", at: "tls")
        }
        for (index, endpoint) in endpoints.enumerated() where endpoints[..<index].contains(endpoint) {
            section.report("an endpoint is listed twice", at: "endpoints", found: endpoint.text)
        }
        for endpoint in endpoints {
            guard let own = section.context.listening.first(where: { endpoint.address.reaches($0) }) else { continue }
            section.report(
                "the endpoint is the gateway's own listener \(AddressText.write(own)): requests would go round in a circle; "
                    + "name the server behind the gateway",
                at: "endpoints",
                found: endpoint.text
            )
        }
        return UpstreamSettings(
            name: "",
            endpoints: endpoints,
            protocolSpoken: protocolSpoken,
            tls: tls,
            timeouts: timeouts,
            pool: pool,
            ejection: ejection
        )
    }
}

/// The keys of `upstreams.NAME.tls`.
enum UpstreamTLSSection {
    static let authorities = Setting(
        "ca",
        ValueKind.authorities,
        .optional,
        "PEM file of the authorities to trust. Left out: the system's."
    )
    static let serverName = Setting(
        "server_name",
        ValueKind.host,
        .optional,
        "The name that is sent and verified. Left out: the endpoint's host."
    )
    static let verify = Setting(
        "verify",
        .flag,
        .standard(true),
        "`false` takes any certificate: for tests only, since anybody on the way can then read and change everything."
    )

    static let schema = SectionSchema("upstreams.*.tls", [authorities.row, serverName.row, verify.row])

    static let kind = ValueKind<UpstreamTLSSettings>.section(schema) { section in
        let authorities = section.value(authorities)
        let serverName = section.value(serverName)
        guard let verify = section.value(verify) else { return nil }
        if !verify, authorities != nil { section.report("ca has no effect when verify is false", at: "ca") }
        return UpstreamTLSSettings(authorities: authorities, serverName: serverName, verifies: verify)
    }
}

/// `upstreams.NAME.timeouts`, and `routes[].timeouts` without standard values.
enum UpstreamTimeoutSection {
    private static let range = Duration.milliseconds(10)...Duration.seconds(86_400)

    static let connect = Setting(
        "connect",
        .duration(range),
        .standard(.seconds(2)),
        "To get a connection, waiting for a place and TLS included: two lost packets inside a network. Where another endpoint is tried in its stead, that has as long."
    )
    static let firstByte = Setting(
        "first_byte",
        .duration(range),
        .standard(.seconds(30)),
        "From the whole request to the head of the answer."
    )
    static let idle = Setting(
        "idle",
        .duration(range),
        .standard(.seconds(60)),
        "Longest silence inside an answer or a WebSocket."
    )
    static let total = Setting(
        "total",
        .duration(range),
        .standard(.seconds(3_600)),
        "A whole exchange; WebSockets and event streams are not counted."
    )

    static let schema = SectionSchema("upstreams.*.timeouts", [connect.row, firstByte.row, idle.row, total.row])

    static let kind = ValueKind<UpstreamTimeoutSettings>.section(schema) { section in
        let connect = section.value(connect)
        let firstByte = section.value(firstByte)
        let idle = section.value(idle)
        guard let total = section.value(total), let connect, let firstByte, let idle else { return nil }
        return UpstreamTimeoutSettings(connect: connect, firstByte: firstByte, idle: idle, total: total)
    }
}

/// The keys of `upstreams.NAME.pool`.
enum PoolSection {
    static let idle = Setting(
        "idle",
        .integer(0...10_000),
        .standard(256),
        "Idle connections that a worker keeps to each endpoint: what a few HTTP/2 clients use at once."
    )
    static let idleTimeout = Setting(
        "idle_timeout",
        .duration(.milliseconds(100)...(.seconds(3_600))),
        .standard(.seconds(30)),
        "How long one is kept: shorter than what most servers close after."
    )
    static let connections = Setting(
        "connections",
        .integer(1...100_000),
        .standard(1_024),
        "Open connections of a worker to each endpoint; beyond it requests wait for `connect`."
    )

    static let schema = SectionSchema("upstreams.*.pool", [idle.row, idleTimeout.row, connections.row])

    static let kind = ValueKind<PoolSettings>.section(schema) { section in
        let idle = section.value(idle)
        let idleTimeout = section.value(idleTimeout)
        guard let connections = section.value(connections), let idle, let idleTimeout else { return nil }
        if idle > connections, section.has("idle") { section.report("idle is larger than connections", at: "idle") }
        return PoolSettings(idle: min(idle, connections), idleTimeout: idleTimeout, connections: connections)
    }
}

/// The keys of `upstreams.NAME.ejection`.
enum EjectionSection {
    static let failures = Setting(
        "failures",
        .integer(0...1_000),
        .standard(5),
        "Failures in a row (no connection, no answer within `first_byte` of the whole request, an invalid one) that eject; "
            + "0 never does."
    )
    static let duration = Setting(
        "duration",
        .duration(.milliseconds(100)...(.seconds(3_600))),
        .standard(.seconds(10)),
        "How long an ejected endpoint is left alone. The last one is never ejected."
    )

    static let schema = SectionSchema("upstreams.*.ejection", [failures.row, duration.row])

    static let kind = ValueKind<EjectionSettings>.section(schema) { section in
        let failures = section.value(failures)
        guard let duration = section.value(duration), let failures else { return nil }
        return EjectionSettings(failures: failures, duration: duration)
    }
}

extension ConfiguredAddress {
    /// Whether a connection to it arrives at a listener on this machine, as far as the texts tell.
    fileprivate func reaches(_ listener: ConfiguredAddress) -> Bool {
        guard case .tcp(let host, let port) = self, case .tcp(let listening, let own) = listener, port == own else {
            return self == listener
        }
        let isHere = host == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "0.0.0.0" || host == "::"
        if listening == "0.0.0.0" || listening == "::" { return isHere }
        return host == listening || host == "localhost" && (listening == "127.0.0.1" || listening == "::1")
    }
}
