// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits

/// The endpoints that one listener serves, out of all there are.
///
/// A plain array read top to bottom; what it does not name falls through to the routes. A class, because every
/// connection of the listener holds it.
final class LocalEndpointTable: Sendable {
    /// Every endpoint there is; a dialect adds its own by a line here.
    static let all: [LocalEndpoint] =
        OfflineEndpoints.all + VouchEndpoints.all + AppEngineEndpoints.all + AppEngineAdminEndpoints.all
        + KeyEndpoints.all

    /// The listener's windows on requests of one client.
    let budget: BudgetRules
    /// Whether other proxies may ask here about their requests.
    let answersChecks: Bool
    private let endpoints: [LocalEndpoint]
    /// The first two bytes after the slash that any of them begins with: most requests are let by with one look.
    private let beginnings: [UInt16]

    init(serving groups: [EndpointGroup], limits: [WindowRule] = []) {
        budget = BudgetRules(limits)
        answersChecks = groups.contains(.check)
        endpoints = Self.all.filter { groups.contains($0.group) }
        var beginnings: [UInt16] = []
        for endpoint in endpoints {
            let beginning = Self.beginning(of: endpoint.path.literalPrefix.span)
            if !beginnings.contains(beginning) { beginnings.append(beginning) }
        }
        self.beginnings = beginnings
    }

    /// Whether a path may be one of ours.
    @inline(__always)
    func mayServe(_ path: Span<UInt8>) -> Bool {
        if beginnings.isEmpty { return false }
        let beginning = Self.beginning(of: path)
        guard beginnings.contains(beginning) else { return false }
        return endpoints.contains { endpoint in
            let prefix = endpoint.path.literalPrefix
            guard path.count >= prefix.count else { return false }
            for index in prefix.indices where prefix[index] != path[index] { return false }
            return true
        }
    }

    /// The endpoint of a path and a method; nil: neither is ours.
    func match(path: String, method: String) -> LocalMatch? {
        var others: [LocalEndpoint] = []
        for endpoint in endpoints {
            guard let parameters = endpoint.path.parameters(of: path) else { continue }
            if endpoint.method == method || (endpoint.method == "GET" && method == "HEAD") {
                return LocalMatch(endpoint, parameters: parameters)
            }
            others.append(endpoint)
        }
        guard let first = others.first else { return nil }
        return LocalMatch(first, parameters: [:], otherMethods: others.map(\.method))
    }

    @inline(__always)
    private static func beginning(of path: Span<UInt8>) -> UInt16 {
        guard path.count > 2 else { return 0 }
        return UInt16(path[1]) << 8 | UInt16(path[2])
    }
}
