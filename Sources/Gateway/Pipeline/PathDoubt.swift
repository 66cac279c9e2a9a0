// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP

/// Applies a route's rules for paths that two readers could understand differently (B76).
enum PathDoubt {
    /// The stable word for why the path is refused; nil: it passes as it came.
    static func of(_ path: Span<UInt8>, _ policy: PathPolicy) -> String? {
        nil
    }
}
