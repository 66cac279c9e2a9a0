// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
package import Transport

/// Keeps the status list fresh: the caching headers decide when it is asked for, the last good copy stays in use.
///
/// Belongs to the control process. Isolated to the Reactor.
@Reactor
package final class StatusListRefresh {
    private let client: WebClient
    private let url: WebURL
    private let place: Place
    private let clock: () -> Moment
    private var schedule: RefreshSchedule
    /// What proofs are judged by now; swapped whole.
    package private(set) var bundle: TrustBundle
    /// Why the last fetch gave nothing; nil after one that did.
    package private(set) var lastProblem: String?

    /// Google's list.
    package nonisolated static let address = "https://android.googleapis.com/attestation/status"
    /// The document is small and nobody waits for it.
    private static let deadline = Duration.seconds(30)

    /// Where every good copy is kept.
    package enum Place: Sendable {
        /// In a bundle, beside its manifest.
        case bundle(TrustDirectory)
        /// In a file of its own.
        case file(StatusListFile)
    }

    /// A refresh of the list of `bundle`, asked for at once and then at least every `interval` seconds.
    package init(
        bundle: TrustBundle,
        keptIn place: Place,
        client: WebClient,
        url: WebURL,
        interval: Int64 = RefreshSchedule.longest,
        clock: @escaping () -> Moment
    ) {
        self.bundle = bundle
        self.place = place
        self.client = client
        self.url = url
        self.clock = clock
        schedule = RefreshSchedule(startingAt: clock(), interval: interval)
    }

    /// The files were read: what is in use now, and what this server calls it.
    package func took(_ reading: TrustReading) {
        bundle = reading.bundle
        schedule.holds(reading.copy.flatMap { $0.source == url.description ? $0.entityTag : nil })
    }

    /// When to call `refresh` next.
    package var next: Moment {
        schedule.next
    }

    /// Asks once; true if the list in use is as fresh as the server's.
    @discardableResult
    package func refresh() async -> Bool {
        var request = WebRequest(url)
        if let tag = schedule.entityTag { request.fields.append((name: "If-None-Match", value: tag)) }
        do {
            let answer = try await client.answer(to: request, within: Self.deadline)
            if answer.status == 304 {
                bundle = bundle.replacing(statusList: bundle.statusList, fetchedAt: clock())
                return succeeded(answer)
            }
            guard answer.status == 200 else { return failed("status \(answer.status)") }
            let list = try StatusList(parsing: answer.body)
            // A list that names nothing any more is more likely an accident than the truth.
            guard list.count > 0 || bundle.statusList.count == 0 else { return failed("an empty list") }
            try store(answer)
            bundle = bundle.replacing(statusList: list, fetchedAt: clock())
            return succeeded(answer)
        } catch {
            return failed("\(error)")
        }
    }

    private func store(_ answer: WebAnswer) throws(FileFailure) {
        switch place {
        case .bundle(let directory): try directory.store(statusList: answer.body, fetchedAt: clock())
        case .file(let file):
            try file.store(answer.body, fetchedAt: clock(), entityTag: answer.plainTag, source: url.description)
        }
    }

    private func succeeded(_ answer: WebAnswer) -> Bool {
        lastProblem = nil
        schedule.succeeded(at: clock(), cacheControl: answer.cacheControl, entityTag: answer.plainTag)
        return true
    }

    private func failed(_ problem: String) -> Bool {
        lastProblem = problem
        schedule.failed(at: clock())
        return false
    }
}

extension WebAnswer {
    /// The entity tag, where it can be sent back as it came.
    var plainTag: String? {
        guard let entityTag, (1...256).contains(entityTag.utf8.count) else { return nil }
        return entityTag.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? entityTag : nil
    }
}
