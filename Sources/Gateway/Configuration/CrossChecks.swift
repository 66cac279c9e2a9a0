// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings

/// What no section can see alone: things that are there twice.
struct CrossChecks {
    private let context: ReadingContext
    private let listeners: [Located<ListenerSettings>]
    private let issuers: [Located<IssuerSettings>]
    private let tokens: TokenSettings?
    private let routes: [RouteFile]
    private let metrics: MetricsSettings?
    private let admin: Located<ConfiguredAddress>?

    init(
        _ context: ReadingContext,
        _ listeners: [Located<ListenerSettings>]?,
        _ issuers: [Located<IssuerSettings>]?,
        _ tokens: TokenSettings?,
        _ routes: [RouteFile]?,
        _ metrics: MetricsSettings?,
        _ admin: Located<ConfiguredAddress>?
    ) {
        self.context = context
        self.listeners = listeners ?? []
        self.issuers = issuers ?? []
        self.tokens = tokens
        self.routes = routes ?? []
        self.metrics = metrics
        self.admin = admin
    }

    func run() {
        checkListeners()
        checkIssuers()
        checkRoutes()
    }

    private func checkListeners() {
        var taken = [metrics?.address, admin?.value].compactMap(\.self)
        if let admin, admin.value == metrics?.address || metrics?.address.overlaps(admin.value) == true {
            report("metrics has that address already", admin, found: AddressText.write(admin.value))
        }
        for listener in listeners {
            let address = listener.value.address
            if taken.contains(address) {
                report("the address is used twice", listener, found: AddressText.write(address))
            } else if let other = taken.first(where: { $0.overlaps(address) }) {
                report(
                    "\(AddressText.write(other)) and this have one port on the same address; give one of them another port",
                    listener,
                    found: AddressText.write(address)
                )
            }
            taken.append(address)
        }
    }

    private func checkIssuers() {
        for (index, issuer) in issuers.enumerated() {
            // Its tokens would be taken for ours, and be refused.
            if issuer.value.issuer == tokens?.issuer {
                report(
                    "an outside issuer has the iss of our own tokens (tokens.issuer)",
                    issuer,
                    found: issuer.value.issuer
                )
            }
            let earlier = issuers[..<index]
            if earlier.contains(where: { $0.value.name == issuer.value.name }) {
                report("two issuers have the same name", issuer, found: issuer.value.name)
            }
            if earlier.contains(where: { $0.value.issuer == issuer.value.issuer && $0.value.kind == issuer.value.kind })
            {
                report("two issuers of one kind have the same iss", issuer, found: issuer.value.issuer)
            }
        }
    }

    private func checkRoutes() {
        for (index, route) in routes.enumerated() {
            let earlier = routes[..<index]
            if earlier.contains(where: { $0.name.value == route.name.value }) {
                report("two routes have the same name", route.name, found: route.name.value)
            }
            if let other = earlier.first(where: { $0.settings.match.hasTies(with: route.settings.match) }) {
                report(
                    "the route matches the same requests as \(other.name.value)",
                    route.name,
                    found: route.name.value
                )
            }
        }
    }

    private func report<Value>(_ sentence: String, _ place: Located<Value>, found: String) {
        context.report(sentence, at: place.position, path: place.path, found: found)
    }
}

extension ConfiguredAddress {
    /// Whether one of two is of all addresses of the kind that the other is one of, on one port: both cannot be bound.
    fileprivate func overlaps(_ other: ConfiguredAddress) -> Bool {
        guard case .tcp(let host, let port) = self, case .tcp(let otherHost, let otherPort) = other, port == otherPort,
            host != otherHost
        else { return false }
        let isSix = host.contains(":")
        // Sockets of IPv6 take no IPv4.
        return isSix == otherHost.contains(":") && [host, otherHost].contains(isSix ? "::" : "0.0.0.0")
    }
}

extension RouteMatch {
    /// Whether some request fits both equally well, so that neither is the more specific.
    fileprivate func hasTies(with other: RouteMatch) -> Bool {
        guard trimmed == other.trimmed, methods.isEmpty == other.methods.isEmpty else { return false }
        let sharesMethod = methods.isEmpty || !Set(methods).isDisjoint(with: other.methods)
        let sharesHost = hosts.isEmpty ? other.hosts.isEmpty : !Set(hosts).isDisjoint(with: other.hosts)
        return sharesMethod && sharesHost
    }

    private var trimmed: Substring {
        path.hasSuffix("/") ? path.dropLast() : path[...]
    }
}
