// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials

/// The one place where a refusal becomes an answer.
package enum DialectTable {
    /// Renders in the route's dialect, or as the caller asked: gRPC trailers, RFC 9457.
    package static func render(_ refusal: Refusal, dialect: Dialect, request: RefusalRequest) -> RenderedRefusal {
        RenderedRefusal(status: refusal.code.status, fields: [], body: [])
    }
}
