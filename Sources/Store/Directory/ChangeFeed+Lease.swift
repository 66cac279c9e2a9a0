// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

extension ChangeFeed {
    /// Sends a renewal; the answer comes to `renewed`.
    func renew() {
        renewal.timer.arm(after: Self.renewalInterval)
        guard !isStopped, !needsResync, let applied else { return }
        renewal.send(
            worker: worker,
            applied: applied,
            milliseconds: leaseMilliseconds,
            epoch: leaseEpoch,
            on: connection
        )
    }

    /// A store that is full still tells of changes, so nothing else would say why the lease runs out.
    func renewalRefused(_ error: StoreError) {
        guard !isStopped, error.description != renewalProblem?.description else { return }
        renewalProblem = error
        onProblem?(error)
    }

    func renewed(applied sent: Int, at time: MonotonicInstant, isExtended: Bool, sequence: Int, birth: String) {
        guard !isStopped else { return }
        renewalProblem = nil
        guard connection.identity?.isStillOurs(birth, sequence: sequence) ?? true else {
            // What is remembered stays in use for the rest of the lease, as while Redis is away.
            needsResync = true
            connection.reset()
            return stream.reset()
        }
        guard !needsResync else { return }
        if sequence < sent {
            // The store has lost changes that we have applied: another history.
            needsResync = true
            stream.reset()
        } else if isExtended {
            extend(from: time)
        }
    }

    func extend(from sent: MonotonicInstant) {
        lease.extend(to: sent.advanced(by: leaseLength - Self.margin))
    }

    /// What the lease script is told: nothing where a new epoch loses nothing.
    var leaseEpoch: String { stream.endpoint.losesNothing ? "" : epoch ?? "" }

    var leaseMilliseconds: Int {
        let (seconds, attoseconds) = leaseLength.components
        return Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
