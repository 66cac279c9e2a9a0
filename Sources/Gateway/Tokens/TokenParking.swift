// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Which tokens may wait for a key set that is being fetched anew.
///
/// The first unknown key of an issuer opens a short while; then its unknown keys are refused at once until the fetch may
/// happen again, so that made-up key ids keep nothing open.
struct TokenParking {
    /// What a fetch may take before its tokens are refused.
    static let wait = Duration.seconds(2)
    /// Key sets are fetched at most this often for an unknown key.
    static let interval = Duration.seconds(30)
    static let places = 64

    private var opened: [String: MonotonicInstant] = [:]
    private var count = 0

    /// Whether a token of the issuer may wait.
    mutating func enter(_ issuer: String, at now: MonotonicInstant) -> Bool {
        guard count < Self.places else { return false }
        if let last = opened[issuer], now < last.advanced(by: Self.interval) {
            guard now < last.advanced(by: Self.wait) else { return false }
        } else {
            opened[issuer] = now
        }
        count += 1
        return true
    }

    /// A token waits no longer.
    mutating func leave() { count -= 1 }
}
