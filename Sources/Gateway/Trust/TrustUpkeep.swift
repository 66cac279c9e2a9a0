// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
import Encodings
import Telemetry
import Transport

/// Control's part in trust: fetches the status list when it is due, shows what counts and what runs out.
///
/// Isolated to the Reactor. Workers follow the files themselves, so a list that was fetched reaches them all.
@Reactor
final class TrustUpkeep {
    private let loop: EventLoop
    private let log: Log
    private let paths: StatePaths
    private let metrics: TrustMetrics
    private let pool = BlockingPool(threads: 1)
    private var settings: TrustSettings
    private var reading: TrustReading
    private var refresh: StatusListRefresh?
    /// How often other settings have begun to be asked by.
    private var beginnings = 0
    /// Why there is nobody to ask, although an address is configured.
    private var setUpProblem: String?
    private lazy var follower = TrustFollower(TrustFiles(settings, paths), loop: loop, pool: pool) {
        [unowned self] in
        changed($0)
    } failed: { [unowned self] in
        log.error("the trust bundle was not taken", ["reason": "\($0)"])
    }
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in fetch() }

    /// Reads the files once; throws where there is no bundle to begin with.
    init(
        _ settings: TrustSettings,
        _ paths: StatePaths,
        slot: MetricsSlot,
        loop: EventLoop,
        log: Log
    ) throws(TrustBundle.ParseError) {
        self.settings = settings
        self.paths = paths
        self.loop = loop
        self.log = log
        metrics = TrustMetrics(slot)
        reading = try TrustFiles(settings, paths).read()
    }

    /// The upkeep of a process that starts.
    static func of(
        _ settings: TrustSettings,
        _ paths: StatePaths,
        slot: MetricsSlot,
        loop: EventLoop,
        log: Log
    ) throws(ProcessFault) -> TrustUpkeep {
        do {
            return try TrustUpkeep(settings, paths, slot: slot, loop: loop, log: log)
        } catch {
            throw ProcessFault("the trust bundle does not read: \(error)")
        }
    }

    /// Begins to look and to ask.
    func start() {
        follower.start()
        begin()
        metrics.show(bundle)
    }

    /// Takes the settings of a configuration that is in force now.
    func took(_ settings: TrustSettings) {
        let asksAsBefore = settings.asksAs(self.settings)
        self.settings = settings
        follower.follow(TrustFiles(settings, paths))
        if !asksAsBefore { begin() }
    }

    /// What counts now.
    var bundle: TrustBundle { refresh?.bundle ?? reading.bundle }

    private func begin() {
        timer.cancel()
        refresh = nil
        setUpProblem = nil
        beginnings += 1
        guard let url = settings.statusList else { return }
        let (settings, beginning) = (settings, beginnings)
        Task { @Reactor in
            let trust = await pool.run { Result { () throws(SnapshotProblem) in try settings.webTrust() } }
            // Other settings came meanwhile.
            guard beginning == beginnings else { return }
            ask(url, trust)
        }
    }

    private func ask(_ url: WebURL, _ trust: Result<TLSClientSettings.Trust, SnapshotProblem>) {
        do {
            let refresh = StatusListRefresh(
                bundle: reading.bundle,
                keptIn: .file(TrustFiles(settings, paths).statusList),
                client: try WebClient(trust.get(), loop: loop, resolver: Resolver(loop: loop, pool: pool)),
                url: url,
                interval: settings.interval.components.seconds,
                clock: { .now() }
            )
            refresh.took(reading)
            self.refresh = refresh
            timer.arm(after: .zero)
        } catch {
            setUpProblem = error.message
            log.error("the status list cannot be fetched", ["reason": error.message])
        }
    }

    private func fetch() {
        guard let refresh else { return }
        Task { @Reactor in
            let isFresh = await refresh.refresh()
            metrics.fetched(isFresh ? .good : .failed)
            guard refresh === self.refresh else { return }
            if let problem = refresh.lastProblem {
                log.warning("the status list was not fetched", ["reason": problem])
            }
            follower.look()
            metrics.show(bundle)
            let wait = max(1, refresh.next.seconds - Moment.now().seconds)
            timer.arm(after: .seconds(wait))
        }
    }

    private func changed(_ reading: TrustReading) {
        self.reading = reading
        refresh?.took(reading)
        metrics.show(reading.bundle)
        log.info(
            "trust bundle read",
            ["version": reading.bundle.version, "list": "\(reading.bundle.statusList.count)"]
        )
    }

    // MARK: What it shows

    /// What someone must see to before it runs out; a list that nobody wanted is not missed here.
    var warnings: [String] {
        let report = TrustReport(bundle, at: .now())
        let wanted = settings.statusList != nil
        return report.warnings.filter { wanted || $0 != TrustReport.noStatusList }
            + [setUpProblem].compactMap { $0 }
    }

    /// The report, with what the last fetch brought.
    var status: JSONValue {
        guard var report = TrustReport(bundle, at: .now()).value.object else { return .null }
        report.set("status_list_from", settings.statusList.map { .string($0.description) } ?? .null)
        report.set("status_list_fetched_at", bundle.statusListTime.map { .string($0.text) } ?? .null)
        report.set("status_list_next_fetch", refresh.map { .string($0.next.text) } ?? .null)
        report.set("last_fetch_problem", (setUpProblem ?? refresh?.lastProblem).map { .string($0) } ?? .null)
        return .object(report)
    }
}

extension TrustSettings {
    /// Whether the list is fetched in the same way: a reload for another reason need not ask again.
    fileprivate func asksAs(_ other: TrustSettings) -> Bool {
        statusList == other.statusList && interval == other.interval && authorities == other.authorities
    }
}

extension Moment {
    /// Now, by the wall clock.
    package static func now() -> Moment {
        Moment(milliseconds: Timestamp.now().milliseconds)
    }

    fileprivate var text: String { InternetTime.text(seconds: seconds) }
}

extension TrustSettings {
    /// Whom to trust for these addresses, `ca` as its file is now.
    ///
    /// Blocks for as long as the disk takes: while the loop serves, never on it.
    nonisolated func webTrust() throws(SnapshotProblem) -> TLSClientSettings.Trust {
        guard let authorities else { return .system }
        return .authorities(pem: try PEMFile.read(authorities))
    }
}

extension WebClient {
    /// A client of trust's addresses.
    convenience init(
        _ trust: TLSClientSettings.Trust,
        loop: EventLoop,
        resolver: Resolver
    ) throws(SnapshotProblem) {
        do throws(TLSFailure) {
            self.init(loop: loop, resolver: resolver, tls: try TLSClientContext(TLSClientSettings(trust: trust)))
        } catch {
            throw SnapshotProblem(message: "TLS of trust: \(error)")
        }
    }
}
