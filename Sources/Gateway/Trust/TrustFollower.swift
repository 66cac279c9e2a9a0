// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Transport

/// Notices that a trust file has changed and reads the bundle anew; one that does not read leaves the last good one.
///
/// Isolated to the Reactor; files are read on a thread of the pool.
@Reactor
final class TrustFollower {
    private let loop: EventLoop
    private let pool: BlockingPool
    private let changed: @Reactor (TrustReading) -> Void
    private let failed: @Reactor (TrustBundle.ParseError) -> Void
    private var files: TrustFiles
    private var versions: [FileVersion?]
    /// What could not be read last, and why.
    private var failure: (versions: [FileVersion?], fault: TrustBundle.ParseError)?
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in tick() }

    /// Two files are looked at, not read.
    private static let interval = Duration.seconds(5)

    /// A follower of `files`, which were read just before.
    init(
        _ files: TrustFiles,
        loop: EventLoop,
        pool: BlockingPool,
        changed: @escaping @Reactor (TrustReading) -> Void,
        failed: @escaping @Reactor (TrustBundle.ParseError) -> Void
    ) {
        self.files = files
        self.loop = loop
        self.pool = pool
        self.changed = changed
        self.failed = failed
        versions = files.versions
    }

    /// Begins to look.
    func start() {
        timer.arm(after: Self.interval)
    }

    /// Reads `files` now and follows them from then on: the configuration may name others.
    func follow(_ files: TrustFiles) {
        self.files = files
        versions = []
        look()
    }

    /// Looks now.
    func look() {
        let present = files.versions
        guard present != versions else { return }
        versions = present
        let files = files
        Task { @Reactor in
            let outcome = await pool.run { Result { () throws(TrustBundle.ParseError) in try files.read() } }
            switch outcome {
            case .success(let reading):
                failure = nil
                changed(reading)
            case .failure(let fault):
                // It may be half copied: read again at the next look, and said once while nothing else changes.
                versions = []
                if failure?.versions != present || failure?.fault != fault { failed(fault) }
                failure = (present, fault)
            }
        }
    }

    private func tick() {
        look()
        timer.arm(after: Self.interval)
    }
}
