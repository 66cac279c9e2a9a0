// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The protocol version a message arrived in.
package enum HTTPVersion: UInt8, BitwiseCopyable, Sendable, Comparable {
    case http10, http11, http2

    package static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
        left.rawValue < right.rawValue
    }

    /// As `Via` writes it (RFC 9110 7.6.3).
    package var number: StaticString {
        switch self {
        case .http10: "1.0"
        case .http11: "1.1"
        case .http2: "2.0"
        }
    }
}
