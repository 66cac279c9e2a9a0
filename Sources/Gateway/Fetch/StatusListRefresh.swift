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
    private let directory: TrustDirectory
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

    /// A refresh of `bundle`, whose directory keeps every good copy.
    package init(
        bundle: TrustBundle,
        directory: TrustDirectory,
        client: WebClient,
        url: WebURL,
        clock: @escaping () -> Moment
    ) {
        self.bundle = bundle
        self.directory = directory
        self.client = client
        self.url = url
        self.clock = clock
        schedule = RefreshSchedule(startingAt: clock())
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
            try directory.store(statusList: answer.body, fetchedAt: clock())
            bundle = bundle.replacing(statusList: list, fetchedAt: clock())
            return succeeded(answer)
        } catch {
            return failed("\(error)")
        }
    }

    private func succeeded(_ answer: WebAnswer) -> Bool {
        lastProblem = nil
        let tag = answer.entityTag.flatMap { $0.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? $0 : nil }
        schedule.succeeded(at: clock(), cacheControl: answer.cacheControl, entityTag: tag)
        return true
    }

    private func failed(_ problem: String) -> Bool {
        lastProblem = problem
        schedule.failed(at: clock())
        return false
    }
}
