// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Transport

/// How often this node asks for keys because somebody presented a token with an unknown one, over all issuers together.
///
/// Each issuer has a pause of its own (`KeySetSchedule.pause`); without a bound on the sum, one flood of tokens that
/// name hundreds of issuers would have us ask them all at once. Who has to wait stays wanted.
package struct FetchAllowance: Sendable {
    /// Fetches at once; then one comes back in each tenth of a minute.
    package static let most = 10
    private static let each = Duration.seconds(60) / most

    /// When the allowance would be whole again.
    private var wholeAt = MonotonicInstant(nanoseconds: 0)

    package init() {}

    /// Takes one fetch; false where there is none left now.
    package mutating func take(at now: MonotonicInstant) -> Bool {
        let taken = max(now, wholeAt).advanced(by: Self.each)
        guard taken <= now.advanced(by: Self.each * Self.most) else { return false }
        wholeAt = taken
        return true
    }

    /// Gives back a fetch that was taken and not made.
    package mutating func giveBack() {
        wholeAt = wholeAt.advanced(by: .zero - Self.each)
    }
}
