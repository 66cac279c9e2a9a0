// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

/// How many refused checks one client network may cause: guessing keys from one address ends here.
///
/// Isolated to the Reactor, one for each worker: over several connections a network may fail N times as often with N
/// workers. Dividing by their number would cut off honest clients instead, because all of a page's requests go to the
/// one worker that holds its connection, and keys of 190 bits are out of reach of N times 600 guesses a minute too.
/// Networks are those windows count by (IPv6 by /64). The budget refills as time passes, and the table is bounded: when
/// it is full the oldest half is forgotten, which errs towards asking the credential table again.
@Reactor
final class FailureBudget {
    private struct Account {
        var spent: Double
        var at: MonotonicInstant
    }

    /// A page on an unlisted origin polling ten times a second stays below this; a guesser does not.
    static let failures = 600.0
    static let refillSeconds = 60.0
    static let networks = 8192

    private var accounts: [ClientNetwork: Account] = [:]

    /// Counts one refused check.
    func failed(_ client: IPAddress, at now: MonotonicInstant) {
        if accounts.count >= Self.networks { forgetOldest() }
        let network = client.network
        var account = accounts[network] ?? Account(spent: 0, at: now)
        account.spent = Self.remaining(account, now) + 1
        account.at = now
        accounts[network] = account
    }

    /// Whole seconds to wait when the budget is spent; nil while there is some left.
    func exhausted(_ client: IPAddress, at now: MonotonicInstant) -> Int? {
        guard !accounts.isEmpty, let account = accounts[client.network] else { return nil }
        let over = Self.remaining(account, now) - Self.failures
        guard over >= 0 else { return nil }
        return max(1, Int((over + 1) * Self.refillSeconds / Self.failures) + 1)
    }

    private static func remaining(_ account: Account, _ now: MonotonicInstant) -> Double {
        let elapsed = Double(now.nanoseconds &- account.at.nanoseconds) / 1e9
        return max(0, account.spent - elapsed * failures / refillSeconds)
    }

    private func forgetOldest() {
        let times = accounts.values.map(\.at).sorted { $0 < $1 }
        let median = times[times.count / 2]
        accounts = accounts.filter { $0.value.at > median }
    }
}

extension IPAddress {
    /// The network that windows and failure budgets count by.
    var network: ClientNetwork {
        family == .v4 ? ClientNetwork(ipv4: UInt32(truncatingIfNeeded: low)) : ClientNetwork(ipv6High: high, low: low)
    }
}
