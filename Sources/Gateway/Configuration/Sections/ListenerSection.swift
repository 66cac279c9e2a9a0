// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits

/// The keys of `listeners[]`.
enum ListenerSection {
    static let address = Setting(
        "address",
        ValueKind.listenAddress.located,
        .required,
        "Where to listen. Each worker has its own socket on it.",
        reload: .restart
    )
    static let tls = Setting("tls", TLSSection.kind(at: "listeners[].tls"), .optional, "Ends TLS here.")
    static let redirect = Setting(
        "redirect",
        .integer(1...65_535),
        .optional,
        "Without `tls`: answers everything with 308 to https on this port."
    )

    static let serves = Setting(
        "serves",
        ValueKind<[EndpointGroup]>.list(of: .choice),
        .standard([]),
        "The endpoints that the gateway answers here itself: the sign-in of a dialect, the published `keys`, `check` for the questions of other proxies (inner listeners only: their word about clients is believed)."
    )

    static let limits = Setting(
        "limits",
        ValueKind.list(of: LimitSection.kind(at: "listeners[].limits[]")),
        .standard([]),
        "Windows on what one client may ask of the open endpoints served here (challenge, nonce, attest), as those of a route; `per: [client]` only. Routes with `sign_in` have `limits` of their own. Empty: no limit."
    )

    static let proxyProtocol = Setting(
        "proxy_protocol",
        ProxyProtocolSection.kind,
        .optional,
        "Balancers in front that tell the client's address by the PROXY protocol, version 1 or 2, before TLS. Left out: none."
    )

    static let schema = SectionSchema(
        "listeners[]",
        [address.row, tls.row, redirect.row, serves.row, limits.row, proxyProtocol.row]
    )

    static let kind = ValueKind<ListenerSettings>.section(schema) { section in
        let tls = section.value(tls)
        let redirect = section.value(redirect)
        let serves = section.value(serves)
        let limits = section.value(limits)
        if section.has("tls"), section.has("redirect") {
            section.report("a listener with tls cannot redirect to https", at: "redirect")
        }
        let proxyProtocol = section.value(proxyProtocol)
        guard let address = section.value(address), let serves, let limits else { return nil }
        section.look(at: address.value, of: "address")
        check(limits, serves, section)
        let traffic: ListenerTraffic =
            if let tls {
                .tls(tls)
            } else if let redirect {
                .redirectToHTTPS(port: UInt16(truncatingIfNeeded: redirect))
            } else {
                .clear
            }
        return ListenerSettings(
            address: address.value,
            traffic: traffic,
            serves: serves,
            limits: limits,
            proxyProtocol: proxyProtocol
        )
    }
}

extension ListenerSection {
    private static func check(_ limits: [WindowRule], _ serves: [EndpointGroup], _ section: SectionReader) {
        for (index, rule) in limits.enumerated() {
            if limits[..<index].contains(where: { $0.name == rule.name }) {
                section.report("two limits of the listener have the same name", at: "limits", found: rule.name)
            }
            if rule.per != [.client] {
                section.report("who signs in is not known yet; count by client", at: "limits", found: rule.name)
            }
        }
        if limits.count > WindowCharge.capacity {
            section.report(
                "a listener has at most \(WindowCharge.capacity) limits",
                at: "limits",
                found: "\(limits.count) limits"
            )
        }
        if !limits.isEmpty, !serves.contains(where: \.isSignIn) {
            section.report("limits has no effect where no dialect is served", at: "limits")
        }
    }
}

/// The keys of `listeners[].proxy_protocol`.
enum ProxyProtocolSection {
    static let sources = Setting(
        "from",
        ValueKind.list(of: ValueKind.addressRange, atLeast: 1),
        .required,
        "The balancers. A connection from anywhere else is closed: whoever may write the header may be any client."
    )
    static let isRequired = Setting(
        "required",
        .flag,
        .standard(true),
        "Whether a connection without the header is closed; otherwise it counts as the balancer's own."
    )

    static let schema = SectionSchema("listeners[].proxy_protocol", [sources.row, isRequired.row])

    static let kind = ValueKind<ProxyProtocolSettings>.section(schema) { section in
        let sources = section.value(sources)
        guard let isRequired = section.value(isRequired), let sources else { return nil }
        return ProxyProtocolSettings(sources: sources, isRequired: isRequired)
    }
}

/// The keys of `listeners[].tls` and of `admin.tls`.
enum TLSSection {
    static let certificates = Setting(
        "certificates",
        ValueKind.list(of: CertificateSection.kind, atLeast: 1),
        .required,
        "One for each name; SNI picks among them."
    )
    static let fallback = Setting(
        "default",
        ValueKind.path.located,
        .optional,
        "The `cert` of the one that unknown names and clients without SNI get. Left out: they are refused."
    )
    static let protocols = Setting(
        "protocols",
        ValueKind<[ApplicationProtocol]>.list(of: .choice, atLeast: 1),
        .standard([.http2, .http11]),
        "What ALPN may agree on, best first."
    )
    static let tickets = Setting(
        "tickets",
        .flag,
        .standard(true),
        "Whether sessions resume; the ticket keys rotate and are shared by the workers."
    )

    static let rows = [certificates.row, fallback.row, protocols.row, tickets.row]

    static func kind(at path: String) -> ValueKind<TLSSettings> {
        .section(SectionSchema(path, rows)) { section in
            let certificates = section.value(certificates)
            let fallback = section.value(fallback)
            let protocols = section.value(protocols)
            guard let tickets = section.value(tickets), let certificates, let protocols else { return nil }
            let index = fallback.flatMap { wanted in certificates.firstIndex { $0.certificate == wanted.value } }
            if let fallback, index == nil {
                section.report(
                    "default must be the cert of one of the certificates",
                    at: "default",
                    found: fallback.value,
                    hint: NearMatch.closest(to: fallback.value, among: certificates.map(\.certificate))
                )
            }
            return TLSSettings(certificates: certificates, fallback: index, protocols: protocols, tickets: tickets)
        }
    }
}

/// The keys of `certificates[]`.
enum CertificateSection {
    static let certificate = Setting(
        "cert",
        ValueKind.path.located,
        .required,
        "PEM file: the leaf first, then its intermediates. Watched for changes."
    )
    static let key = Setting("key", ValueKind.path.located, .required, "PEM file of the leaf's private key.")

    static let rows = [certificate.row, key.row]

    static let kind = ValueKind<CertificateSettings>.section(SectionSchema("listeners[].tls.certificates[]", rows)) {
        section in
        let certificate = section.value(certificate)
        guard let key = section.value(key), let certificate else { return nil }
        let settings = CertificateSettings(certificate: certificate.value, key: key.value)
        switch section.context.checkCertificate(settings) {
        case nil: break
        case .certificate(let sentence, let isOfThisUser): report(sentence, certificate, isOfThisUser, section)
        case .key(let sentence, let isOfThisUser): report(sentence, key, isOfThisUser, section)
        }
        return settings
    }

    private static func report(
        _ sentence: String,
        _ file: Located<String>,
        _ isOfThisUser: Bool,
        _ section: SectionReader
    ) {
        section.context.report(
            sentence,
            at: file.position,
            path: file.path,
            found: file.value,
            isOfThisMachine: isOfThisUser
        )
    }
}
