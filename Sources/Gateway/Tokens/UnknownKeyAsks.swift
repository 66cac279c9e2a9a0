// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

/// Which client networks may have an issuer asked for keys that nobody holds.
///
/// A fetch for an unknown key is one allowance for all callers (B27): who has used it a few times keeps off it for a
/// while, so that made-up key ids of one network leave it to whoever brings the first token of a real rotation. Nobody
/// is locked out for longer than the issuer's own timer takes. Bounded: when the table is full the oldest half is
/// forgotten, which errs towards asking.
struct UnknownKeyAsks {
    private struct Account {
        var began: MonotonicInstant
        var turns = 0
        var turnEnds: MonotonicInstant
    }

    /// Turns that a network has in a period: a rotation takes one, or two where the first fetch came too early.
    static let turns = 4
    /// A turn is as long as the pause between two fetches for unknown keys.
    static let turn = KeySetSchedule.pause
    static let period = KeySetSchedule.usual
    static let networks = 4_096

    private var accounts: [ClientNetwork: Account] = [:]

    /// How many networks are remembered.
    var count: Int { accounts.count }

    /// Whether a token from this network may have its key asked for now; begins a turn where it has one left.
    mutating func mayAsk(_ network: ClientNetwork, at now: MonotonicInstant) -> Bool {
        var account = accounts[network] ?? Account(began: now, turnEnds: now)
        if now < account.turnEnds { return true }
        if now >= account.began.advanced(by: Self.period) { account = Account(began: now, turnEnds: now) }
        guard account.turns < Self.turns else { return false }
        account.turns += 1
        account.turnEnds = now.advanced(by: Self.turn)
        if accounts.count >= Self.networks, accounts[network] == nil { forgetOldest() }
        accounts[network] = account
        return true
    }

    private mutating func forgetOldest() {
        let times = accounts.values.map(\.turnEnds).sorted { $0 < $1 }
        let median = times[times.count / 2]
        accounts = accounts.filter { $0.value.turnEnds > median }
    }
}
