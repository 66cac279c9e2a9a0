// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry
import Transport

/// Writes warnings of what runs out: at start, when they change, and once a day while they last.
///
/// Isolated to the Reactor.
@Reactor
final class ExpiryWatch {
    private let loop: EventLoop
    private let log: Log
    private let sentences: @Reactor () -> [String]
    private var written: [String] = []
    private var writtenAt: MonotonicInstant?
    private lazy var timer = LoopTimer(loop: loop, ofProcess: true) { [unowned self] in look() }

    private static let interval = Duration.seconds(3_600)
    private static let repetition = Duration.seconds(24 * 3_600)

    /// A watch over what `sentences` says.
    init(loop: EventLoop, log: Log, _ sentences: @escaping @Reactor () -> [String]) {
        self.loop = loop
        self.log = log
        self.sentences = sentences
    }

    /// Looks now, and then every hour.
    func look() {
        defer { timer.arm(after: Self.interval) }
        let present = sentences()
        let isDue = writtenAt.map { loop.now >= $0.advanced(by: Self.repetition) } ?? true
        // Days left change every day; what is warned of is named first.
        guard isDue || present.map(Self.subject) != written.map(Self.subject) else { return }
        for sentence in present { log.warning("runs out", ["what": sentence]) }
        written = present
        writtenAt = loop.now
    }

    private static func subject(_ sentence: String) -> Substring {
        sentence.prefix { $0 != " " }
    }
}

extension CertificateWatch {
    /// A certificate is warned of in its last days: the last quarter of its life, two weeks at most.
    private static let longestWarning: Int64 = 14 * 86_400

    /// The certificates of listeners that end soon, in sentences.
    static func warnings(_ configuration: Configuration, at seconds: Int64) -> [String] {
        lives(configuration).compactMap { life in
            let left = life.notAfter - seconds
            guard left < min(longestWarning, (life.notAfter - life.notBefore) / 4) else { return nil }
            return left < 0
                ? "\(life.path) has ended: clients refuse it." : "\(life.path) ends in \(left / 86_400) days."
        }
    }
}
