// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store
import Telemetry
import Transport

/// One outside issuer as the control process fetches its keys.
///
/// Isolated to the Reactor.
@Reactor
final class IssuerKeys {
    /// What came of one fetch.
    enum Outcome: Equatable {
        case fetched, unchanged
        case unreachable(String)
        case badAnswer(String)
        case badSet(KeySetProblem)
        case badAddress(String)
    }

    let name: String
    let address: String
    var algorithms: [TokenAlgorithm]
    var schedule: KeySetSchedule
    var isBusy = false
    /// The digests of the sets in which workers missed a key since the last fetch for one.
    var lacking: Set<String> = []
    /// The last good set.
    private(set) var set: SharedKeySet?
    private(set) var keyCount = 0
    /// Why the last fetch gave nothing; nil after one that did.
    private(set) var problem: String?
    private let settings: IssuerSettings
    private let slot: MetricsSlot
    private let label: String
    private let keys: Gauge
    private let ageGauge: Gauge
    private var entityTag: String?
    private var known: WebClient?
    /// The file of authorities that `known` was made with.
    private var knownAuthorities: FileVersion?

    init(_ settings: IssuerSettings, _ address: String, startingAt now: MonotonicInstant, slot: MetricsSlot) {
        self.settings = settings
        name = settings.name
        self.address = address
        algorithms = settings.algorithms
        schedule = KeySetSchedule(startingAt: now)
        self.slot = slot
        label = "issuer=\"\(Metric.escapedLabel(settings.name))\""
        keys = slot.gauge(GatewayMetrics.issuerKeys, label)
        ageGauge = slot.gauge(GatewayMetrics.issuerKeysAge, label)
        for outcome in Outcome.words { _ = counter(outcome) }
    }

    /// Whether other settings of an issuer would fetch the same in the same way.
    func isSame(as other: IssuerSettings) -> Bool {
        name == other.name && address == other.keyAddress && settings.keyAuthorities == other.keyAuthorities
            && settings.privateNetworks == other.privateNetworks
    }

    /// What is asked.
    var request: WebRequest {
        get throws(WebFailure) {
            guard let url = WebURL(address) else { throw .resolution }
            var request = WebRequest(url)
            if let entityTag { request.fields.append((name: "If-None-Match", value: entityTag)) }
            return request
        }
    }

    /// The client for this issuer: its authorities, its exceptions, our bounds; files are looked at on `pool`.
    func client(loop: EventLoop, resolver: Resolver, _ pool: BlockingPool) async throws(WebFailure) -> WebClient {
        let (path, held) = (settings.keyAuthorities, known == nil ? nil : knownAuthorities)
        let present = try await pool.run { () throws(WebFailure) in try Self.authorities(path, replacing: held) }
        // A file that is missing for a moment is about to be replaced.
        if let known, present == nil { return known }
        do {
            let made = WebClient(
                loop: loop,
                resolver: resolver,
                tls: try TLSClientContext(TLSClientSettings(trust: present?.trust ?? .system)),
                limit: JSONWebKeySet.maximumBytes,
                permitted: OutboundAddresses(exceptions: settings.privateNetworks)
            )
            known = made
            knownAuthorities = present?.version
            return made
        } catch {
            throw .connection("\(error)")
        }
    }

    /// The file of authorities, where it is another than the one `held`; nil where it is the same, or none is named.
    private nonisolated static func authorities(
        _ path: String?,
        replacing held: FileVersion?
    ) throws(WebFailure) -> (version: FileVersion?, trust: TLSClientSettings.Trust)? {
        guard let path else { return nil }
        let present = Files.version(path)
        if let held, present == nil || present == held { return nil }
        switch Files.read(path, limit: PEMFile.limit) {
        case .success(let pem): return (present, .authorities(pem: pem))
        case .failure(let fault): throw .connection("cannot read \(path): \(fault.message)")
        }
    }

    /// Takes an answer: a set, or the word that the one we have is still right.
    func judge(_ answer: WebAnswer, at moment: Int64) -> Outcome {
        switch answer.status {
        case 200:
            let fresh = SharedKeySet(source: address, bytes: answer.body, fetchedAt: moment)
            do throws(KeySetProblem) {
                let isSame = set?.bytes == fresh.bytes
                try takeChecked(fresh)
                entityTag = answer.plainTag
                return isSame ? .unchanged : .fetched
            } catch {
                return .badSet(error)
            }
        case 304 where entityTag != nil && set != nil:
            set?.fetchedAt = moment
            return .unchanged
        default: return .badAnswer("status \(answer.status)")
        }
    }

    /// Takes a set that another node fetched; false where it cannot be read.
    func take(_ shared: SharedKeySet) -> Bool {
        if let set, set.fetchedAt > shared.fetchedAt { return false }
        do throws(KeySetProblem) {
            try takeChecked(shared)
        } catch {
            return false
        }
        // Its tag is not known here.
        entityTag = nil
        return true
    }

    private func takeChecked(_ fresh: SharedKeySet) throws(KeySetProblem) {
        keyCount = try JSONWebKeySet.parse(fresh.bytes, algorithms: algorithms).keys.count
        set = fresh
    }

    // MARK: - What others see of it

    /// Counts a fetch.
    func count(_ outcome: Outcome) {
        problem = outcome.problem
        counter(outcome.word).increment()
    }

    /// Sets the gauges.
    func show(at moment: Int64) {
        if let set, set.fetchedAt + SharedKeySet.life <= moment {
            self.set = nil
            keyCount = 0
        }
        keys.set(keyCount)
        ageGauge.set(set.map { Int(max(0, moment - $0.fetchedAt) / 1_000) } ?? 0)
    }

    /// The age of the set in use, for people.
    func age(at moment: Int64) -> String {
        set.map { "\(max(0, moment - $0.fetchedAt) / 1_000)s" } ?? "none"
    }

    private func counter(_ outcome: String) -> Counter {
        slot.counter(GatewayMetrics.issuerFetches, "\(label),outcome=\"\(outcome)\"")
    }
}

extension IssuerKeys.Outcome {
    static let words = ["fetched", "unchanged", "unreachable", "bad_answer", "bad_set", "bad_address"]

    init(_ failure: WebFailure) {
        switch failure {
        case .resolution: self = .unreachable("the name gives no address")
        case .connection(let reason): self = .unreachable(reason)
        case .deadlinePassed: self = .unreachable("no answer in time")
        case .address(let address): self = .badAddress(address)
        case .answer(let reason): self = .badAnswer(reason)
        }
    }

    /// The metric's label.
    var word: String {
        switch self {
        case .fetched: "fetched"
        case .unchanged: "unchanged"
        case .unreachable: "unreachable"
        case .badAnswer: "bad_answer"
        case .badSet: "bad_set"
        case .badAddress: "bad_address"
        }
    }

    /// What went wrong; nil when nothing did.
    var problem: String? {
        switch self {
        case .fetched, .unchanged: nil
        case .unreachable(let reason), .badAnswer(let reason): reason
        case .badSet(let problem): "no key set: \(problem.rawValue)"
        case .badAddress(let address):
            "its name leads to \(address), which is not public; list its range in private_networks if that is meant"
        }
    }
}
