// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP

/// The keys of `http`.
enum HTTPSection {
    static let line = Setting(
        "line",
        .byteCount(.kibibytes(1)...(.kibibytes(64))),
        .standard(.kibibytes(8)),
        "Longest request line; RFC 9112 asks for at least 8000 bytes. Fields are held to `head`."
    )
    static let fields = Setting(
        "fields",
        .integer(10...FieldTable.mostFields),
        .standard(100),
        "Most fields of one head, trailers counted apart."
    )
    static let head = Setting(
        "head",
        .byteCount(.kibibytes(4)...(.kibibytes(256))),
        .standard(.kibibytes(32)),
        "Most bytes of one head: four long cookies, and 2 MiB for 64 attackers."
    )
    static let body = Setting(
        "body",
        .byteCount(ByteCount(bytes: 0)...(.mebibytes(1 << 20))),
        .standard(.mebibytes(16)),
        "Most bytes of a request body; a route may say otherwise. Bodies stream, so this is about the upstream."
    )

    static let schema = SectionSchema("http", [line.row, fields.row, head.row, body.row])

    static let kind = ValueKind<HTTPLimitSettings>.section(schema) { section in
        let line = section.value(line)
        let fields = section.value(fields)
        let head = section.value(head)
        guard let body = section.value(body), let line, let fields, let head else { return nil }
        if line > head { section.report("line is larger than head, so it has no effect", at: "line") }
        return HTTPLimitSettings(line: line, fields: fields, head: head, body: body)
    }
}

/// The keys of `timeouts`.
enum TimeoutSection {
    static let handshake = Setting(
        "handshake",
        .duration(.milliseconds(100)...(.seconds(120))),
        .standard(.seconds(10)),
        "From the accepted connection to the end of the TLS handshake: three lost packets on a phone."
    )
    static let header = Setting(
        "header",
        .duration(.milliseconds(100)...(.seconds(120))),
        .standard(.seconds(10)),
        "From the first byte of a head to its last."
    )
    static let idle = Setting(
        "idle",
        .duration(.milliseconds(100)...(.seconds(86_400))),
        .standard(.seconds(60)),
        "Longest silence of a client while its body comes or its answer goes."
    )
    static let keepAlive = Setting(
        "keep_alive",
        .duration(.milliseconds(100)...(.seconds(3_600))),
        .standard(.seconds(75)),
        "How long a connection may wait for its next request: longer than the 60 s of most load balancers."
    )
    static let leastRate = Setting(
        "least_rate",
        .byteCount(ByteCount(bytes: 0)...(.mebibytes(1))),
        .standard(ByteCount(bytes: 256)),
        "Bytes that buy a client another second beyond `patience`: a bad mobile link carries ten times as much. `0B`: progress extends for ever."
    )
    static let patience = Setting(
        "patience",
        .duration(.seconds(1)...(.seconds(86_400))),
        .standard(.seconds(120)),
        "How long altogether a client may take with a body, or the reading of an answer, below `least_rate`."
    )
    static let drain = Setting(
        "drain",
        .duration(.seconds(0)...(.seconds(3_600))),
        .standard(.seconds(25)),
        "How long exchanges may go on after TERM: under the 30 s that orchestrators grant.",
        reload: .restart
    )

    static let schema = SectionSchema(
        "timeouts",
        [handshake.row, header.row, idle.row, keepAlive.row, leastRate.row, patience.row, drain.row]
    )

    static let kind = ValueKind<TimeoutSettings>.section(schema) { section in
        let handshake = section.value(handshake)
        let header = section.value(header)
        let idle = section.value(idle)
        let keepAlive = section.value(keepAlive)
        let leastRate = section.value(leastRate)
        let patience = section.value(patience)
        guard let drain = section.value(drain), let handshake, let header, let idle, let keepAlive, let leastRate,
            let patience
        else { return nil }
        return TimeoutSettings(
            handshake: handshake,
            header: header,
            idle: idle,
            keepAlive: keepAlive,
            leastRate: leastRate,
            patience: patience,
            drain: drain
        )
    }
}

/// The keys of `connections`.
enum ConnectionSection {
    static let perWorker = Setting(
        "per_worker",
        .integer(16...1_000_000),
        .standard(10_000),
        "Open downstream connections of one worker; about 40 KiB each with TLS."
    )
    static let perClient = Setting(
        "per_client",
        .integer(1...1_000_000),
        .standard(1_000),
        "Of them, from one client address (IPv6: one /64): an office or a mobile network behind one address."
    )
    static let requestsPerClient = Setting(
        "requests_per_client",
        .integer(1...1_000_000),
        .standard(1_000),
        "Requests of one client address under way at once in one worker; fewer than `pool.connections`, so that others find one. More are answered 503."
    )
    static let rate = Setting(
        "rate",
        .budget,
        .standard(FloodBudget(burst: 2_000, perSecond: 500)),
        "New connections of one client address to one worker (IPv6: one /64), unless it is a trusted proxy."
    )
    static let handshakes = Setting(
        "handshakes",
        .budget,
        .standard(FloodBudget(burst: 1_000, perSecond: 200)),
        "Of them, TLS handshakes that resume no session: 200 a second are a tenth of a processor."
    )
    static let floods = Setting(
        "floods",
        .budget,
        .standard(FloodBudget(burst: 20, perSecond: 1)),
        "Connections of one client address that a budget of `http2` cut; then it gets no new ones until the budget refills."
    )
    static let busyShare = Setting(
        "busy_share",
        .duration(.microseconds(100)...(.milliseconds(100))),
        .standard(.microseconds(100)),
        "How long connections that keep a worker busy, and TLS handshakes, may hold up the others at a time."
    )
    static let requests = Setting(
        "requests",
        .integer(1...1_000_000_000),
        .standard(100_000),
        "Requests after which a connection is closed, so that load spreads again."
    )

    static let schema = SectionSchema(
        "connections",
        [
            perWorker.row, perClient.row, requestsPerClient.row, rate.row, handshakes.row, floods.row, busyShare.row,
            requests.row,
        ]
    )

    static let kind = ValueKind<ConnectionSettings>.section(schema) { section in
        let perWorker = section.value(perWorker)
        let perClient = section.value(perClient)
        let requestsPerClient = section.value(requestsPerClient)
        let rate = section.value(rate)
        let handshakes = section.value(handshakes)
        let floods = section.value(floods)
        let busyShare = section.value(busyShare)
        guard let requests = section.value(requests), let perWorker, let perClient, let rate, let handshakes,
            let floods, let busyShare, let requestsPerClient
        else { return nil }
        return ConnectionSettings(
            perWorker: perWorker,
            perClient: perClient,
            requestsPerClient: requestsPerClient,
            rate: rate,
            handshakes: handshakes,
            floods: floods,
            busyShare: busyShare,
            requests: requests
        )
    }
}
