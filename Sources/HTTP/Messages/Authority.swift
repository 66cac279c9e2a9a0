// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// `host[:port]` taken apart; the ranges are into the bytes it was parsed from.
package struct Authority: Sendable, Equatable {
    /// The host, brackets of an IPv6 address included.
    package var host: Range<Int>
    /// The port, when one is written.
    package var port: UInt16?

    /// Reads `bytes` strictly; nil for anything that is not one host with an optional port.
    ///
    /// Stricter than RFC 3986: no user info, no percent-encoding, no sub-delimiters, since no name that can be looked
    /// up or certified has them and back ends disagree about what they mean. An underscore is let pass.
    package init?(_ bytes: Span<UInt8>) {
        return nil
    }
}
