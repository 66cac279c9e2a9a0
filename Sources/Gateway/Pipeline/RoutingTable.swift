// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Finds the route of a request by host, path prefix and method; built once for each configuration.
///
/// Hosts are compared after ASCII lower-casing and without their port. Among the routes of a host the longest path
/// prefix wins, then one that names methods, then the one written first; routes that name no host come after every
/// host's own.
@Reactor
struct RoutingTable {
    private struct Entry {
        let host: [UInt8]
        /// Indexes into `routes`, the most specific first.
        let routes: [Int]
    }

    let routes: [Route]
    private let buckets: [[Entry]]
    /// Suffixes of `*.example.com` hosts, with their leading dot, longest first.
    private let wildcards: [Entry]
    private let anyHost: [Int]

    init(_ routes: [Route]) {
        self.routes = routes
        var byHost: [[UInt8]: [Int]] = [:]
        var anyHost: [Int] = []
        for (index, route) in routes.enumerated() {
            if route.hosts.isEmpty { anyHost.append(index) }
            for host in route.hosts { byHost[host, default: []].append(index) }
        }
        let isMoreSpecific: (Int, Int) -> Bool = { left, right in
            let (first, second) = (routes[left], routes[right])
            // `/files` and `/files/` take the same requests but one: neither is the longer.
            let (length, other) = (first.prefixLength, second.prefixLength)
            guard length == other else { return length > other }
            guard first.methods.isEmpty == second.methods.isEmpty else { return second.methods.isEmpty }
            return left < right
        }
        self.anyHost = anyHost.sorted(by: isMoreSpecific)
        var buckets = [[Entry]](repeating: [], count: 64)
        var wildcards: [Entry] = []
        for (host, indexes) in byHost {
            if host.starts(with: "*.".utf8) {
                wildcards.append(Entry(host: Array(host.dropFirst()), routes: indexes.sorted(by: isMoreSpecific)))
            } else {
                buckets[Self.bucket(of: host.span)].append(
                    Entry(host: host, routes: indexes.sorted(by: isMoreSpecific))
                )
            }
        }
        self.buckets = buckets
        self.wildcards = wildcards.sorted { $0.host.count > $1.host.count }
    }

    /// The route for a request, or nil: 404 `route_not_found`.
    func route(host: Span<UInt8>, path: Span<UInt8>, method: Span<UInt8>) -> Route? {
        // Places, because to go through an array counts references to it and to what is in it.
        let bucket = Self.bucket(of: host)
        for place in buckets[bucket].indices where Self.equal(host, buckets[bucket][place].host) {
            if let route = first(of: buckets[bucket][place].routes, path: path, method: method) { return route }
        }
        for place in wildcards.indices where host.count > wildcards[place].host.count {
            let entry = wildcards[place]
            // One label stands for the star, as in a certificate.
            let label = host.count - entry.host.count
            if Self.equal(host.extracting(label..<host.count), entry.host), !Self.hasDot(host.extracting(0..<label)),
                let route = first(of: entry.routes, path: path, method: method)
            {
                return route
            }
        }
        return first(of: anyHost, path: path, method: method)
    }

    private func first(of indexes: [Int], path: Span<UInt8>, method: Span<UInt8>) -> Route? {
        for place in indexes.indices {
            let route = routes[indexes[place]]
            if route.matches(path: path, method: method) { return route }
        }
        return nil
    }

    private static func bucket(of host: Span<UInt8>) -> Int {
        var hash: UInt32 = 2_166_136_261
        for index in host.indices { hash = (hash ^ UInt32(lowered(host[index]))) &* 16_777_619 }
        return Int(hash & 63)
    }

    private static func equal(_ host: Span<UInt8>, _ entry: [UInt8]) -> Bool {
        guard host.count == entry.count else { return false }
        for index in host.indices where lowered(host[index]) != entry[index] { return false }
        return true
    }

    private static func hasDot(_ label: Span<UInt8>) -> Bool {
        for index in label.indices where label[index] == UInt8(ascii: ".") { return true }
        return false
    }

    @inline(__always)
    private static func lowered(_ byte: UInt8) -> UInt8 {
        byte &- 65 < 26 ? byte | 0x20 : byte
    }
}

extension Route {
    /// The length of the path prefix without a slash at its end.
    fileprivate var prefixLength: Int {
        path.last == UInt8(ascii: "/") ? path.count - 1 : path.count
    }
}
