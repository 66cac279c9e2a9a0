// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Attestation
import Synchronization
import Transport

/// One fetch of the status list, for the command line: a loop of its own, ended when the answer is there.
package enum TrustFetch {
    /// Why there is no fresh list.
    package struct Problem: Error, Equatable {
        /// What to tell.
        package let sentence: String
    }

    /// Fetches the list into `directory`; the result is how many serial numbers it names.
    package static func run(
        _ directory: TrustDirectory,
        from url: WebURL,
        authorities: [UInt8]?,
        at now: Moment
    ) -> Result<Int, Problem> {
        let bundle: TrustBundle
        do {
            bundle = try directory.bundle()
        } catch {
            return .failure(Problem(sentence: "\(error)"))
        }
        Reactor.installGlobalHook()
        let outcome = Outcome()
        Reactor.run { loop in
            Task { @Reactor in
                let result = await fetch(bundle, directory, url, authorities, now, loop)
                outcome.result.withLock { $0 = result }
                loop.stop()
            }
        }
        return outcome.result.withLock { $0 }
    }

    /// Filled on the loop, read once the loop has ended.
    private final class Outcome: Sendable {
        let result = Mutex(Result<Int, Problem>.failure(Problem(sentence: "no answer")))
    }

    @Reactor private static func fetch(
        _ bundle: TrustBundle,
        _ directory: TrustDirectory,
        _ url: WebURL,
        _ authorities: [UInt8]?,
        _ now: Moment,
        _ loop: EventLoop
    ) async -> Result<Int, Problem> {
        do {
            let trust = authorities.map { TLSClientSettings.Trust.authorities(pem: $0) } ?? .system
            let client = WebClient(
                loop: loop,
                resolver: Resolver(loop: loop, pool: BlockingPool(threads: 1)),
                tls: try TLSClientContext(TLSClientSettings(trust: trust))
            )
            let refresh = StatusListRefresh(
                bundle: bundle,
                keptIn: .bundle(directory),
                client: client,
                url: url
            ) { now }
            guard await refresh.refresh() else {
                return .failure(Problem(sentence: "\(url): \(refresh.lastProblem ?? "no answer")"))
            }
            return .success(refresh.bundle.statusList.count)
        } catch {
            return .failure(Problem(sentence: "\(error)"))
        }
    }
}
