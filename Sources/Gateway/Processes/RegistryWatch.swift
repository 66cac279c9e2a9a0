// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Telemetry
import Transport

/// Notices that the registry is gone, went back in time, or lacks an organization that a route is for.
///
/// Isolated to the Reactor; belongs to control. Names the registry at its birth and remembers the name in a file.
@Reactor
final class RegistryWatch {
    private let registry: RegistryStore
    private let redis: RedisConnection
    private let identity: RegistryIdentity
    private let file: RegistryFile
    private let configuration: () -> Configuration
    private let now: () -> Int64
    private let loop: EventLoop
    private let log: Log
    private let lostGauge: Gauge
    private let changesLost: Counter
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in look() }
    private var seen: RegistryFile.Memory?
    private var writtenAt: MonotonicInstant?
    private var hasSaidLoss = false
    /// What to tell of a registry that went back in time; nil: it did not.
    private var setback: String?
    private var missing: [(place: String, organization: String)] = []
    /// The number of the change for which `missing` is known.
    private var lookedAt: Int?

    private static let interval = Duration.seconds(1)
    /// The file is synced to disk: not for each change, and soon enough that few are forgotten with the power.
    private static let writeInterval = Duration.seconds(1)

    init(
        registry: RegistryStore,
        redis: RedisConnection,
        identity: RegistryIdentity,
        file: RegistryFile,
        configuration: @escaping () -> Configuration,
        now: @escaping () -> Int64,
        slot: MetricsSlot,
        loop: EventLoop,
        log: Log
    ) {
        self.registry = registry
        self.redis = redis
        self.identity = identity
        self.file = file
        self.configuration = configuration
        self.now = now
        self.loop = loop
        self.log = log
        lostGauge = slot.gauge(GatewayMetrics.registryLost)
        changesLost = slot.counter(GatewayMetrics.registryChangesLost)
        seen = file.read()
    }

    func start() { look() }

    /// Looks now: another configuration names other organizations, perhaps.
    func configurationTaken() {
        lookedAt = nil
        timer.arm(after: .milliseconds(10))
    }

    /// Why requests should not be sent here; nil while the registry is the one that was there.
    var problem: String? { identity.loss.map { $0.sentence(file.path) } }

    /// What somebody should look at, in sentences.
    var warnings: [String] {
        [setback].compactMap(\.self)
            + missing.map {
                "\($0.place) is for the organization \($0.organization), which does not exist: "
                    + "sallyport orgs create \($0.organization)"
            }
    }

    private func look() {
        tellLoss()
        Task { @Reactor in
            await ask()
            timer.arm(after: Self.interval)
        }
    }

    private func tellLoss() {
        let loss = identity.loss
        lostGauge.set(loss == nil ? 0 : 1)
        if let loss, !hasSaidLoss {
            log.error(
                "the registry is lost",
                [
                    "reason": loss.reason, "known": seen?.name ?? "", "changes": "\(seen?.sequence ?? 0)",
                    "meanwhile": "what is known is served until state.serve_stale ends",
                    "way_out": loss.wayOut(file.path),
                ]
            )
        } else if loss == nil, hasSaidLoss, redis.isReady {
            log.info("a registry is there again", ["name": seen?.name ?? ""])
        }
        hasSaidLoss = loss != nil || hasSaidLoss && !redis.isReady
    }

    private func ask() async {
        guard redis.isReady else { return }
        do throws(RegistryError) {
            guard let remembered = file.read() else { return try await nameRegistry() }
            let found = try await registry.position()
            guard identity.isStillOurs(found.name, sequence: found.sequence), found.name == remembered.name else {
                return redis.reset()
            }
            if found.sequence < seen?.sequence ?? 0 { wentBack(to: found.sequence) }
            remember(.init(name: remembered.name, sequence: found.sequence))
            try await lookForOrganizations(at: found.sequence)
        } catch {
            // The connection says so itself.
        }
    }

    private func nameRegistry() async throws(RegistryError) {
        let found = try await registry.birth(naming: NewNames.recordID().rawValue)
        setback = nil
        writtenAt = nil
        remember(.init(name: found.name, sequence: found.sequence))
        log.info("the registry of this node", ["name": found.name, "changes": "\(found.sequence)", "file": file.path])
    }

    private func remember(_ memory: RegistryFile.Memory) {
        let isOther = memory != seen
        seen = memory
        guard writtenAt == nil || isOther || file.read() != memory else { return }
        if let writtenAt, loop.now < writtenAt.advanced(by: Self.writeInterval) { return }
        writtenAt = loop.now
        do throws(FileFault) {
            try file.write(memory)
        } catch {
            log.error("what is known of the registry cannot be kept", ["file": file.path, "reason": error.message])
        }
    }

    /// A failover to a replica that lagged behind, or an older snapshot: what was acknowledged is gone.
    private func wentBack(to sequence: Int) {
        let lost = (seen?.sequence ?? 0) - sequence
        changesLost.increment(by: UInt64(max(0, lost)))
        setback =
            "Redis went back by \(lost) change\(lost == 1 ? "" : "s") at \(InternetTime.text(seconds: now() / 1_000)): "
            + "what was disabled, revoked or rotated just before may count again; compare with the history and repeat it"
        log.error(
            "the registry went back in time",
            [
                "changes_lost": "\(lost)", "last_change": "\(sequence)",
                "kept": "revocations of tokens that running workers hold stay in force",
                "way_out": "repeat what was revoked, disabled or rotated last: sallyport history, sallyport apply",
            ]
        )
    }

    /// A route for an organization that does not exist refuses everybody: a slip of the pen, or a step forgotten.
    private func lookForOrganizations(at sequence: Int) async throws(RegistryError) {
        guard lookedAt != sequence else { return }
        let known = Set(try await registry.organizations().elements.map(\.id))
        lookedAt = sequence
        let configuration = configuration()
        let former = missing
        missing = configuration.organizationsNamed.filter { !known.contains($0.organization) }
            .map { ($0.place, $0.organization.rawValue) }
        for lack in missing where !former.contains(where: { $0 == lack }) {
            log.warning(
                "an organization that the configuration names does not exist: nobody gets in as one of its apps",
                [
                    "place": lack.place, "organization": lack.organization,
                    "way_out": "sallyport orgs create \(lack.organization), or mend the configuration",
                ]
            )
        }
    }
}

extension Configuration {
    /// The organizations that routes and issuers are for, and where they are named.
    fileprivate var organizationsNamed: [(place: String, organization: OrganizationID)] {
        routes.flatMap { route -> [(String, OrganizationID)] in
            guard case .restricted(let rules) = route.access, case .only(let named) = rules.organizations else {
                return []
            }
            return named.map { ("route \(route.name)", $0) }
        } + issuers.flatMap { issuer in issuer.organizations.map { ("issuer \(issuer.name)", $0) } }
    }
}

extension RegistryLoss {
    /// What is there in its place.
    var reason: String {
        switch self {
        case .missing: "Redis is empty: it holds no registry any more"
        case .unnamed: "Redis holds a registry without a name, where this node's has one"
        case .foreign: "Redis holds another registry than this node's"
        }
    }

    fileprivate func wayOut(_ path: String) -> String {
        "bring the data of Redis back, or correct state.redis; if this Redis is meant: rm \(path) on every node, "
            + "then sallyport apply"
    }

    /// One line for `/readyz` and `status`.
    func sentence(_ path: String) -> String { "the registry is lost: \(reason); \(wayOut(path))" }
}
