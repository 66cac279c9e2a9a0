// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Crypto
import Encodings
import Store
import Telemetry
import Transport

/// The control process's care for our own keys: made once, checked on every node, rotated, sealed anew.
///
/// Isolated to the Reactor. Several control processes on one Redis do the same work; each change is one script that
/// only the first of them wins, so it does not matter which.
@Reactor
final class KeyringKeeper {
    /// Why this node cannot work with the keys in use; nil while it can.
    private(set) var problem: String?
    /// The live nodes and the keys at rest that each holds.
    private(set) var nodes: [NodeKeys] = []
    /// How the last look went.
    private(set) var hasLooked = false
    let registry: RegistryStore
    let source: KeySource
    let node: String
    let now: () -> Int64
    private(set) var material: KeyMaterial
    /// The key files as they were read last: an operator may bring the next key to this node.
    private var version: [FileVersion?]
    private(set) var keyring = KeyringDocument()
    private(set) var own: SigningKeyRing?
    private let peppers: PepperRing
    let algorithm: () -> TokenAlgorithm
    let loop: EventLoop
    /// Until then a Redis that was not reached is not away but starting too.
    let youngUntil: MonotonicInstant
    let log: Log
    /// The key that everything apps keep is known to be sealed with; nil: not looked yet.
    private var appsSealedWith: String?
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in timerFired() }

    private static let interval = Duration.seconds(2)
    private static let firstInterval = Duration.milliseconds(50)
    private static let youth = Duration.seconds(5)
    /// Who the history says did what nobody asked for.
    static let actor = "gateway"

    init(
        registry: RegistryStore,
        source: KeySource,
        material: KeyMaterial,
        peppers: PepperRing,
        node: String,
        algorithm: @escaping () -> TokenAlgorithm,
        loop: EventLoop,
        log: Log,
        now: @escaping () -> Int64
    ) {
        self.registry = registry
        self.source = source
        self.material = material
        self.version = source.version
        self.peppers = peppers
        self.node = node
        self.algorithm = algorithm
        self.loop = loop
        youngUntil = loop.now.advanced(by: Self.youth)
        self.log = log
        self.now = now
    }

    /// Begins to look after the keys.
    func start() {
        timer.arm(after: Self.firstInterval)
    }

    private func timerFired() {
        Task { @Reactor in
            await look()
            timer.arm(after: hasLooked ? Self.interval : Self.firstInterval)
        }
    }

    /// Looks once at everything; a store that is away leaves all as it was.
    func look() async {
        do throws(RegistryError) {
            let former = problem
            problem = try await check()
            hasLooked = true
            if let problem, problem != former { log.error("this node's keys do not fit", ["reason": problem]) }
        } catch {
            guard case .store = error else {
                problem = "the shared keys in Redis cannot be read: \(error.reason)"
                return
            }
        }
    }

    private func check() async throws(RegistryError) -> String? {
        if source.version != version { readMaterial() }
        nodes = try await registry.announce(held)
        try await takeKeyring(try await settledKeyring())
        if let missing = missingKeys() { return missing }
        let signing = try await settledSigning()
        let sealing: SealingRing
        do {
            sealing = try material.sealingRing(current: keyring.seal)
        } catch {
            return error.sentence
        }
        do throws(SigningKeyProblem) {
            own = try SigningKeyRing(signing.keys, sealing: sealing)
        } catch {
            return error.sentence
        }
        if signing.keys.contains(where: { $0.sealed.key != sealing.newest }) { try await reseal(with: sealing) }
        if appsSealedWith != sealing.newest {
            try await resealApps(with: sealing)
            appsSealedWith = sealing.newest
        }
        return nil
    }

    /// What this node can open and verify.
    var held: NodeKeys {
        NodeKeys(node: node, seals: material.seals.map(\.id), peppers: material.peppers.map(\.id))
    }

    // MARK: - The keys at rest

    /// Names the keys in use at the first start of all; later only reads which they are.
    private func settledKeyring() async throws(RegistryError) -> KeyringDocument {
        let known = try await registry.document(KeyringDocument.self).document
        if known.seal != nil, known.pepper != nil { return known }
        let (seal, pepper) = (material.seals.first?.id, material.peppers.first?.id)
        return try await registry.change(KeyringDocument.self, by: Self.actor) { document throws(RegistryError) in
            guard document.seal == nil || document.pepper == nil else { return [] }
            document.seal = document.seal ?? seal
            document.pepper = document.pepper ?? pepper
            return [
                HistoryEvent(
                    "keyring_made",
                    [("seal", .optional(document.seal)), ("pepper", .optional(document.pepper))]
                )
            ]
        }.document
    }

    private func takeKeyring(_ document: KeyringDocument) async throws(RegistryError) {
        let isNew = document != keyring
        keyring = document
        // The operator may have added the key that was missing.
        if isNew || missingKeys() != nil { readMaterial() }
    }

    /// Reads the keys at rest again, and hashes with the pepper in use.
    func readMaterial() {
        do {
            version = source.version
            material = try source.load()
            try peppers.replace(material.peppers(current: keyring.pepper))
        } catch let fault as ProcessFault {
            log.error("the keys at rest cannot be read", ["reason": fault.message])
        } catch {
            log.error("the peppers cannot be used", ["reason": "\(error)"])
        }
    }

    private func missingKeys() -> String? {
        if let seal = keyring.seal, !held.seals.contains(seal) {
            return "this node does not hold the sealing key \(seal) that the gateway uses"
                + " (it holds \(held.seals.joined(separator: ", "))); copy \(source.sealPlace) from another node"
        }
        if let pepper = keyring.pepper, !held.peppers.contains(pepper) {
            return "this node does not hold the pepper \(pepper) that the gateway uses"
                + " (it holds \(held.peppers.joined(separator: ", "))); copy \(source.pepperPlace) from another node"
        }
        return nil
    }
}

extension KeySource {
    /// Where the sealing keys are, for people.
    var sealPlace: String { secrets.seal?.reference ?? paths.sealing }
    /// Where the peppers are, for people.
    var pepperPlace: String { secrets.pepper?.reference ?? paths.pepper }
}
