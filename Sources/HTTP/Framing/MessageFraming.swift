// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Where a message's body ends: decided once, when the head is complete, and never again.
package enum MessageFraming: Sendable, Equatable {
    /// There is no body.
    case none
    /// Exactly this many bytes; may be zero.
    case length(UInt64)
    /// Chunked transfer coding.
    case chunked
    /// Everything until the upstream closes; responses only.
    case untilClose

    /// Whether at least one byte of body or a chunk is still to come after the head.
    package var hasBody: Bool {
        switch self {
        case .none, .length(0): false
        case .length, .chunked, .untilClose: true
        }
    }
}
