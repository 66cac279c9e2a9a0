// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
package import Transport

/// A worker's bounded cache of compiled apps and listed sites.
///
/// Isolated to the Reactor.
///
/// Look-ups are synchronous and allocate nothing; what they leave `unresolved` is loaded, once for however many ask at
/// the same time. What is loaded is kept only if no change to it was applied since the load began.
@Reactor
package final class AppDirectory {
    private let connection: RedisConnection
    private let lease: ServingLease
    private let loop: EventLoop
    var apps: DirectoryTable
    var sites: [Int: (name: DirectoryName, organizations: [OrganizationID])] = [:]
    /// Digests of names that do not exist, and until when we believe it.
    var unknown: [Int: MonotonicInstant] = [:]
    var flights: [RegistryStore.AppReference: Flight] = [:]
    var siteFlights: [String: SiteFlight] = [:]

    /// Long enough to blunt a flood of one made-up name, short enough to forget mistakes.
    private static let unknownLifetime = Duration.seconds(5)
    private static let mostUnknown = 8_192
    private static let mostSites = 16_384
    /// Changes that overtake a load make it start again this often.
    private static let attempts = 4

    /// A load under way and who waits for it.
    final class Flight {
        /// Any app may be another now.
        var isOvertaken = false
        /// These are.
        var changed: Set<String> = []
        var waiters: [ParkedCaller<AppLookup>] = []

        /// Whether what was found of `record`, or that there is none, may be older than a change.
        func isOvertaken(finding record: String?) -> Bool {
            isOvertaken || record.map(changed.contains) ?? !changed.isEmpty
        }
    }

    final class SiteFlight {
        var isOvertaken = false
        var waiters: [ParkedCaller<SiteLookup>] = []
    }

    /// Told once for each reading of a record that cannot be used, with its id and the reason: its app is closed.
    package var onBroken: @Reactor (String, String) -> Void = { _, _ in }

    /// An empty directory for at most `capacity` apps.
    package init(connection: RedisConnection, lease: ServingLease, loop: EventLoop, capacity: Int = 10_000) {
        self.connection = connection
        self.lease = lease
        self.loop = loop
        apps = DirectoryTable(capacity: capacity)
    }

    // MARK: - Look-ups

    /// The app of an App ID.
    package func app(id: Span<UInt8>) -> AppLookup { find(.appID, id) }

    /// The app that owns an API key's id.
    package func app(key: Span<UInt8>) -> AppLookup { find(.key, key) }

    /// The app of a record id.
    package func app(record: Span<UInt8>) -> AppLookup { find(.record, record) }

    /// The app of an organization by its username there, or by its record id.
    package func app(organization: Span<UInt8>, name: Span<UInt8>) -> AppLookup {
        guard lease.isValid else { return .unavailable }
        if let slot = apps.find(.username, organization, name) { return slot.lookup }
        if let slot = apps.find(.record, name), organization.matches(slot.organization) { return slot.lookup }
        return isUnknown(digestOf(.username, organization, name)) ? .unknown : .unresolved
    }

    /// The organizations with an app that lists an origin (`scheme://host[:port]`) or a domain (`host[:port]`).
    package func organizations(site: Span<UInt8>) -> SiteLookup {
        guard lease.isValid else { return .unavailable }
        guard let entry = sites[digestOf(.site, site)], entry.name.bytes.count == site.count,
            site.matches(entry.name.bytes)
        else { return .unresolved }
        return .known(entry.organizations)
    }

    @inline(__always)
    private func find(_ kind: DirectoryKind, _ name: Span<UInt8>) -> AppLookup {
        guard lease.isValid else { return .unavailable }
        if let slot = apps.find(kind, name) { return slot.lookup }
        return isUnknown(digestOf(kind, name)) ? .unknown : .unresolved
    }

    private func isUnknown(_ digest: Int) -> Bool {
        guard !unknown.isEmpty, let end = unknown[digest] else { return false }
        return loop.now < end
    }

    // MARK: - Loading

    /// Loads the app of an App ID: known, unknown, broken or unavailable.
    package func load(id: String) async -> AppLookup {
        await load(.appID(AppID(rawValue: id)), remembering: digestOf(.appID, id.utf8.span))
    }

    /// Loads the app that owns an API key's id.
    package func load(key: String) async -> AppLookup {
        await load(.key(APIKeyID(rawValue: key)), remembering: digestOf(.key, key.utf8.span))
    }

    /// Loads the app of a record id.
    package func load(record: String) async -> AppLookup {
        await load(.record(RecordID(rawValue: record)), remembering: digestOf(.record, record.utf8.span))
    }

    /// Loads an app of an organization by username, then by record id.
    package func load(organization: String, name: String) async -> AppLookup {
        let digest = digestOf(.username, organization.utf8.span, name.utf8.span)
        let named = await load(.username(OrganizationID(rawValue: organization), name), remembering: nil)
        guard case .unknown = named else { return named }
        let recorded = await load(.record(RecordID(rawValue: name)), remembering: nil)
        if case .known(let app) = recorded, app.organization.rawValue == organization { return recorded }
        if case .unavailable = recorded { return recorded }
        remember(unknown: digest)
        return .unknown
    }

    /// Loads the organizations of an origin or domain.
    package func load(site: String) async -> SiteLookup {
        guard lease.isValid else { return .unavailable }
        if let flight = siteFlights[site] {
            return await ParkedCaller.park { flight.waiters.append($0) }
        }
        let flight = SiteFlight()
        siteFlights[site] = flight
        let found = await fetch(site: site, flight)
        siteFlights[site] = nil
        for waiter in flight.waiters { waiter.resume(returning: found) }
        return found
    }

    private func load(
        _ reference: RegistryStore.AppReference,
        remembering digest: Int?
    ) async -> AppLookup {
        guard lease.isValid else { return .unavailable }
        if let flight = flights[reference] {
            return await ParkedCaller.park { flight.waiters.append($0) }
        }
        let flight = Flight()
        flights[reference] = flight
        let found = await fetch(reference, flight, remembering: digest)
        flights[reference] = nil
        for waiter in flight.waiters { waiter.resume(returning: found) }
        return found
    }

    private func fetch(
        _ reference: RegistryStore.AppReference,
        _ flight: Flight,
        remembering digest: Int?
    ) async -> AppLookup {
        let (index, value) = reference.indexed
        for _ in 0..<Self.attempts {
            flight.isOvertaken = false
            flight.changed = []
            let reply: RedisReply
            do {
                reply = try await connection.evaluate(
                    RegistryScripts.fetch,
                    keys: [.text(RegistryScripts.tag)],
                    arguments: [.text(index), .text(value), .text(connection.identity?.expected ?? "")]
                )
            } catch {
                return .unavailable
            }
            guard let parts = reply.elements else { return .unavailable }
            // Only a change of this app: others may change theirs as often as they like.
            if flight.isOvertaken(finding: parts.first?.text) { continue }
            if parts.isEmpty {
                if let digest { remember(unknown: digest) }
                return .unknown
            }
            guard let slot = DirectorySlot(fetched: parts, by: DirectoryName(reference)) else { return .unavailable }
            apps.insert(slot)
            if case .broken(let reason) = slot.lookup { onBroken(slot.record, reason) }
            return slot.lookup
        }
        return .unavailable
    }

    private func fetch(site: String, _ flight: SiteFlight) async -> SiteLookup {
        for _ in 0..<Self.attempts {
            flight.isOvertaken = false
            let reply: RedisReply
            do {
                reply = try await connection.call(["HVALS", .text(RegistryScripts.tag + ":site:" + site)])
            } catch {
                return .unavailable
            }
            if flight.isOvertaken { continue }
            guard let names = reply.elements?.compactMap(\.text) else { return .unavailable }
            let organizations = Set(names).sorted().map(OrganizationID.init(rawValue:))
            if sites.count >= Self.mostSites { sites.removeAll(keepingCapacity: true) }
            let name = DirectoryName(.site, site)
            sites[name.digest] = (name, organizations)
            return .known(organizations)
        }
        return .unavailable
    }

    private func remember(unknown digest: Int) {
        if unknown.count >= Self.mostUnknown { unknown.removeAll(keepingCapacity: true) }
        unknown[digest] = loop.now.advanced(by: Self.unknownLifetime)
    }
}
