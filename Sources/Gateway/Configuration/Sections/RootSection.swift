// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Transport

/// The top of the file.
enum RootSection {
    static let version = Setting("version", ValueKind.version, .required, "The version of this format: 1.")
    static let workers = Setting(
        "workers",
        ValueKind.workers,
        .standard(.automatic),
        "Worker processes; `auto`: one for each processor.",
        reload: .restart
    )
    static let user = Setting(
        "user",
        ValueKind.text,
        .optional,
        "Account that the children drop to when started as root.",
        reload: .restart
    )
    static let listeners = Setting(
        "listeners",
        ValueKind.list(of: ListenerSection.kind.located, atLeast: 1),
        .required,
        "Sockets that take requests."
    )
    static let admin = Setting("admin", AdminSection.kind, .implied, "The admin listener.")
    static let metrics = Setting(
        "metrics",
        MetricsSection.kind,
        .optional,
        "The listener of `/metrics`, `/livez` and `/readyz`. Left out: none."
    )
    static let log = Setting("log", LogSection.kind, .implied, "Log lines.")
    static let state = Setting("state", StateSection.kind, .implied, "What is kept, and where.")
    static let secrets = Setting("secrets", SecretSection.kind, .implied, "Keys at rest, the same on all nodes.")
    static let trust = Setting("trust", TrustSection.kind, .implied, "Whose word counts for native proofs.")
    static let clientAddress = Setting(
        "client_address",
        ClientAddressSection.kind,
        .implied,
        "Whom to believe about the client's address."
    )
    static let issuers = Setting(
        "issuers",
        ValueKind.list(of: IssuerSection.section),
        .standard([]),
        "Outside issuers of tokens."
    )
    static let tokens = Setting("tokens", TokenSection.kind, .implied, "Our own tokens, and how others' are judged.")
    static let upstreams = Setting(
        "upstreams",
        ValueKind.named(UpstreamSection.kind),
        .required,
        "Groups of equal servers, by name."
    )
    static let routes = Setting(
        "routes",
        ValueKind.list(of: RouteSection.kind, atLeast: 1),
        .required,
        "Which requests go where, and who may make them."
    )
    static let http = Setting("http", HTTPSection.kind, .implied, "Limits of one message.")
    static let timeouts = Setting("timeouts", TimeoutSection.kind, .implied, "Deadlines of clients.")
    static let connections = Setting("connections", ConnectionSection.kind, .implied, "Caps on connections.")
    static let http2 = Setting("http2", HTTP2Section.kind, .implied, "HTTP/2: windows, streams, and what is a flood.")
    static let memory = Setting("memory", MemorySection.kind, .implied, "Memory, and when load is shed.")
    static let documentation = Setting(
        "documentation",
        ValueKind.httpsURL,
        .standard("https://docs.example.com/attestation"),
        "Page that refusals point to, with `#` and their code behind it. The standard one is an example and nobody's: name a page of your own."
    )

    static let schema = SectionSchema(
        "",
        [
            version.row, workers.row, user.row, listeners.row, admin.row, metrics.row, log.row, state.row,
            secrets.row, trust.row, clientAddress.row, issuers.row, tokens.row, upstreams.row, routes.row, http.row,
            timeouts.row,
            connections.row, http2.row, memory.row, documentation.row,
        ]
    )
}

extension ValueKind where Value == Int {
    static let version = ValueKind("1") { reader in
        guard case .scalar("1", isPlain: true) = reader.node.content else { return reader.refuse("version 1") }
        return 1
    }
}

extension ValueKind where Value == WorkerCount {
    static let workers = ValueKind(
        "`auto` or number",
        "auto, or a whole number from 1 to 256",
        parse: { text in
            if text == "auto" { return .automatic }
            guard let count = Int(text), 1...256 ~= count else { return nil }
            return .exactly(count)
        },
        write: { _ in "auto" }
    )
}

/// The keys of `admin`.
enum AdminSection {
    static let address = Setting(
        "address",
        ValueKind.adminAddress.located,
        .optional,
        "A Unix socket (the user's name is who did it), or a TCP address with TLS, where admin tokens say who it is (32 connections, 8 of one network, 3 s for handshake and head; for one more the one that is idle longest ends, else the oldest without a whole request); then the socket is there too. Left out: `admin.sock` in the state directory.",
        reload: .restart
    )
    static let tls = Setting("tls", TLSSection.kind(at: "admin.tls"), .optional, "Needed by a TCP address.")

    static let schema = SectionSchema("admin", [address.row, tls.row])

    /// As written; the standard address depends on the state directory.
    struct File: Sendable {
        var address: Located<ConfiguredAddress>?
        var tls: TLSSettings?
    }

    static let kind = ValueKind<File>.section(schema) { section in
        let address = section.value(address)
        let tls = section.value(tls)
        section.look(at: address?.value, of: "address")
        switch address?.value {
        case .tcp where !section.has("tls"): section.report("a TCP address needs tls", at: "address")
        case .unix where section.has("tls"), nil where section.has("tls"):
            section.report("tls has no effect on a Unix socket", at: "tls")
        case .tcp, .unix, nil: break
        }
        return File(address: address, tls: tls)
    }
}

/// The keys of `metrics`.
enum MetricsSection {
    static let address = Setting(
        "address",
        ValueKind.listenAddress,
        .required,
        "Clear HTTP without any check: keep it inside. A connection is kept for 75 s after an answer, longer than any usual time between scrapes; when 64 are open, 16 of one network, the one that is idle longest gives way, else the oldest without a whole request.",
        reload: .restart
    )

    static let schema = SectionSchema("metrics", [address.row])

    static let kind = ValueKind<MetricsSettings>.section(schema) { section in
        let address = section.value(address)
        section.look(at: address, of: "address")
        return address.map(MetricsSettings.init(address:))
    }
}

/// The keys of `log`.
enum LogSection {
    static let access = Setting(
        "access",
        ValueKind.logTarget,
        .standard(.standardOutput),
        "Where access-log lines go: `stdout`, `off`, or a file, opened anew on HUP."
    )
    static let level = Setting(
        "level",
        ValueKind<LogLevel>.choice,
        .standard(.info),
        "Least severe line written.",
        reload: .restart
    )

    static let schema = SectionSchema("log", [access.row, level.row])

    static let kind = ValueKind<LogSettings>.section(schema) { section in
        let access = section.value(access)
        guard let level = section.value(level), let access else { return nil }
        if section.context.surroundings != .unseen, case .file(let path) = access,
            let problem = Places.logProblem(path)
        {
            section.report(
                "the access log cannot be written there: \(problem)",
                at: "access",
                found: path,
                isOfThisMachine: true
            )
        }
        return LogSettings(access: access, level: level)
    }
}

extension ValueKind where Value == LogTarget {
    static let logTarget = ValueKind(
        "`stdout`, `off` or path",
        read: { reader in
            guard let path = ValueKind<String>.text.read(reader) else { return nil }
            switch path {
            case "stdout": return .standardOutput
            case "off": return .off
            default: return .file(path: reader.context.absolute(path))
            }
        },
        write: { _ in "stdout" }
    )
}

/// The keys of `secrets`.
enum SecretSection {
    static let pepper = Setting(
        "pepper",
        ValueKind.secret,
        .optional,
        "Keys the hashes of API keys and secrets; 32 bytes or more, or lines of 64 hexadecimal digits as in our own files. Left out: made once under `keys/` of the state directory.",
        reload: .restart
    )
    static let seal = Setting(
        "seal",
        ValueKind.secret,
        .optional,
        "Seals what Redis keeps; as the pepper. Left out: made once, as the pepper.",
        reload: .restart
    )

    static let schema = SectionSchema("secrets", [pepper.row, seal.row])

    static let kind = ValueKind<SecretSettings>.section(schema) { section in
        let pepper = section.value(pepper)
        let seal = section.value(seal)
        for (key, secret) in [("pepper", pepper), ("seal", seal)] {
            if let secret, secret.bytes.count < 32 { section.report("the secret has less than 32 bytes", at: key) }
        }
        if let pepper, pepper.bytes == seal?.bytes { section.report("pepper and seal must differ", at: "seal") }
        return SecretSettings(pepper: pepper, seal: seal)
    }
}

/// The keys of `client_address`.
enum ClientAddressSection {
    static let trustedProxies = Setting(
        "trusted_proxies",
        ValueKind.list(of: ValueKind.addressRange),
        .standard([]),
        "Peers whose `X-Forwarded-*` and `X-Request-Id` are believed, read from right to left."
    )

    static let schema = SectionSchema("client_address", [trustedProxies.row])

    static let kind = ValueKind<ClientAddressSettings>.section(schema) { section in
        section.value(trustedProxies).map(ClientAddressSettings.init(trustedProxies:))
    }
}
