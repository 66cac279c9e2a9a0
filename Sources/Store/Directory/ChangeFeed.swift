// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// Follows the registry's change stream and keeps the worker's lease.
///
/// Isolated to the Reactor.
///
/// Two connections: this one's `XREAD` blocks, the lease is renewed on the worker's other. A gap in the numbers, an
/// entry that cannot be read or another replication id make it drop every cache and begin anew. The lease grows only by
/// renewals that the store acknowledged while we had applied everything, counted from when they were sent.
@Reactor
package final class ChangeFeed {
    /// The number of the last change that is applied here; nil before the first registration.
    package private(set) var applied: Int?
    /// Told why changes cannot be followed, whenever that is another reason than before.
    package var onProblem: (@Reactor (StoreError) -> Void)?
    private var problem: StoreError?
    /// Why the store takes no renewal, for as long as it takes none.
    var renewalProblem: StoreError?
    /// How often everything was dropped.
    package private(set) var resyncs = 0
    private let loop: EventLoop
    /// The connection that `XREAD` blocks.
    let stream: RedisConnection
    /// The connection that leases are renewed on.
    let connection: RedisConnection
    let worker: String
    let lease: ServingLease
    let leaseLength: Duration
    private let subscribers: [any ChangeSubscriber]
    let renewal: LeaseRenewal
    var epoch: String?
    private var checkedGeneration = -1
    var needsResync = true
    private var task: Task<Void, Never>?
    var isStopped = false

    /// Short against any lease, long against the cost.
    static let renewalInterval = Duration.seconds(1)
    /// What clocks and the way of a reply may take; see architecture, state.
    static let margin = Duration.milliseconds(500)
    private static let block = Duration.seconds(2)
    private static let batch = 512
    private static let shortPause = Duration.milliseconds(10)
    private static let longPause = Duration.seconds(1)
    /// Beyond these a batch's apps are loaded on first sight.
    private static let reloadsPerBatch = 64

    /// A feed for the worker named `worker`, whose caches may be used for `leaseLength` after a renewal.
    package init(
        loop: EventLoop,
        stream: RedisConnection,
        connection: RedisConnection,
        worker: String,
        lease: ServingLease,
        leaseLength: Duration,
        subscribers: [any ChangeSubscriber]
    ) {
        self.loop = loop
        self.stream = stream
        self.connection = connection
        self.worker = worker
        self.lease = lease
        self.leaseLength = leaseLength
        self.subscribers = subscribers
        renewal = LeaseRenewal(loop: loop)
    }

    /// Begins to follow; the lease becomes valid when the store has been reached.
    package func start() {
        renewal.feed = self
        renewal.timer.arm(after: Self.renewalInterval)
        task = Task { await self.run() }
    }

    /// Ends the lease here and in the store, so that nobody waits for this worker.
    package func stop() async {
        isStopped = true
        renewal.timer.cancel()
        task?.cancel()
        task = nil
        lease.end()
        stream.close()
        do {
            _ = try await connection.evaluate(
                RegistryScripts.endLease,
                keys: [.text(RegistryScripts.tag)],
                arguments: [.text(worker)]
            )
        } catch {
            // The lease then runs out by itself.
        }
    }

    // MARK: - Following

    private func run() async {
        var pause = Self.shortPause
        while !isStopped {
            do throws(StoreError) {
                guard stream.isReady else { throw .unavailable }
                try await step()
                pause = Self.shortPause
                problem = nil
            } catch {
                // Whoever was stopped has closed the connection itself.
                if isStopped { return }
                // A connection comes back by itself; what the store says to a question will hardly change at once.
                pause = error == .unavailable ? Self.shortPause : min(pause * 2, Self.longPause)
                tell(error)
                if await !pauseBeforeRetry(pause) { return }
            }
        }
    }

    /// The connection itself tells why it is not there; what is cut off when this stops is no problem.
    private func tell(_ error: StoreError) {
        guard !isStopped, error != .unavailable, error.description != problem?.description else { return }
        problem = error
        onProblem?(error)
    }

    private func pauseBeforeRetry(_ pause: Duration) async -> Bool {
        do throws(CancellationError) {
            try await loop.sleep(for: pause)
            return true
        } catch {
            return false
        }
    }

    private func step() async throws(StoreError) {
        let generation = stream.generation
        if generation != checkedGeneration {
            let found = try await RedisRequirements.epoch(of: stream)
            if found != epoch { needsResync = true }
            epoch = found
            checkedGeneration = generation
        }
        if needsResync { try await resync() }
        guard let from = applied else { return }
        let reply = try await stream.call(
            [
                "XREAD", "COUNT", .number(Self.batch), "BLOCK", .number(Int(Self.block.components.seconds) * 1000),
                "STREAMS", .text(RegistryScripts.tag + ":changes"), .text("\(from)-0"),
            ],
            deadline: Self.block + .seconds(1)
        )
        // Between sending and now a renewal may have asked for a resync; the entries are then moot.
        guard !needsResync else { return }
        await apply(try entries(of: reply))
    }

    /// Begins anew at the store's present number.
    ///
    /// First the number, then what must be complete, so that it is no older; then everything else is dropped, loads
    /// under way included; only then the lease is registered, which tells others that we hold nothing older.
    private func resync() async throws(StoreError) {
        // What is dropped is loaded again over the other connection: while that one is away nothing could be judged.
        guard connection.isReady else { throw .unavailable }
        let found = try await stream.call([
            "MGET", .text(RegistryScripts.tag + ":sequence"), .text(RegistryIdentity.key),
        ])
        guard let parts = found.elements, parts.count == 2 else { throw .malformed("the registry's position") }
        guard connection.identity?.isStillOurs(parts[1].text, sequence: Int(parts[0].integer ?? 0)) ?? true else {
            connection.reset()
            stream.reset()
            throw .unavailable
        }
        // A store that takes no writes, as on a full disk, gives no lease either: what is held then
        // serves to the end of ours.
        _ = try await stream.call(["SET", .text(RegistryScripts.tag + ":probe"), "1", "PX", "1000"])
        resyncs += 1
        let position = Int(parts[0].integer ?? 0)
        for subscriber in subscribers { try await subscriber.restore(from: stream) }
        for subscriber in subscribers { subscriber.dropEverything() }
        let sent = MonotonicInstant.readClock()
        let reply = try await stream.evaluate(
            RegistryScripts.lease,
            keys: [.text(RegistryScripts.tag)],
            arguments: [.text(worker), .number(position), .number(leaseMilliseconds), .text(leaseEpoch)]
        )
        guard let parts = reply.elements, parts.count == 4, let isExtended = parts[0].integer,
            let sequence = parts[1].integer, sequence >= position
        else { throw .malformed("the answer to a lease") }
        applied = position
        needsResync = false
        if isExtended == 1 { extend(from: sent) }
    }

    private func entries(of reply: RedisReply) throws(StoreError) -> [RedisReply] {
        guard let streams = reply.elements else { throw .malformed("the change stream") }
        guard let first = streams.first else { return [] }
        guard let parts = first.elements, parts.count == 2, let entries = parts[1].elements else {
            throw .malformed("the change stream")
        }
        return entries
    }

    private func apply(_ entries: [RedisReply]) async {
        guard !entries.isEmpty, var last = applied else { return }
        var reloads: [(any ChangeSubscriber, RegistryNotice)] = []
        for entry in entries {
            guard let change = RegistryNotice(entry: entry), change.sequence == last + 1 else {
                needsResync = true
                return
            }
            for subscriber in subscribers {
                if subscriber.apply(change), reloads.count < Self.reloadsPerBatch {
                    reloads.append((subscriber, change))
                }
            }
            last = change.sequence
        }
        applied = last
        renew()
        for (subscriber, change) in reloads { await subscriber.reload(change) }
    }
}
