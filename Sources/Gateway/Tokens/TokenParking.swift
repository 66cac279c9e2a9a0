// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Limits
import Transport

/// Which tokens may wait for a key set that is being fetched anew.
///
/// The first unknown key of an issuer opens a short while; then its unknown keys are refused at once until the fetch
/// may happen again, so that made-up key ids keep nothing open.
struct TokenParking {
    /// What becomes of a token with an unknown key.
    enum Entry {
        /// It waits for a fetch.
        case waits
        /// It is refused; a fetch is asked for.
        case asks
        /// It is refused; its client network has had enough fetches.
        case refused
    }

    /// What a fetch may take before its tokens are refused.
    static let wait = Duration.seconds(2)
    /// Key sets are fetched at most this often for an unknown key.
    static let interval = Duration.seconds(30)
    static let places = 64

    private var opened: [String: MonotonicInstant] = [:]
    private var count = 0
    private(set) var networks = UnknownKeyAsks()

    /// Takes a token of the issuer that comes from `network`.
    mutating func enter(_ issuer: String, from network: ClientNetwork, at now: MonotonicInstant) -> Entry {
        guard networks.mayAsk(network, at: now) else { return .refused }
        guard count < Self.places else { return .asks }
        if let last = opened[issuer], now < last.advanced(by: Self.interval) {
            guard now < last.advanced(by: Self.wait) else { return .asks }
        } else {
            opened[issuer] = now
        }
        count += 1
        return .waits
    }

    /// A token waits no longer.
    mutating func leave() { count -= 1 }
}
