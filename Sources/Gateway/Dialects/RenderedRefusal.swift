// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A refusal as it goes on the wire: status, fields and body; the pipeline only writes it.
package struct RenderedRefusal: Sendable, Equatable {
    package var status: Int
    /// Names in lower case, without `content-length` and without CORS fields.
    package var fields: [HeaderField]
    package var body: [UInt8]
}

/// What rendering needs to know of the request.
package struct RefusalRequest: Sendable {
    package var method: String
    /// Without query.
    package var path: String
    /// `Accept` names `application/problem+json`.
    package var wantsProblemDocument: Bool
    /// `Content-Type` begins with `application/grpc`.
    package var isGRPC: Bool
    /// The decision id, ours.
    package var decision: String
    /// Milliseconds since 1970.
    package var now: Int64
    /// `Configuration.documentation`.
    package var documentation: String

    package init(
        method: String,
        path: String,
        wantsProblemDocument: Bool = false,
        isGRPC: Bool = false,
        decision: String,
        now: Int64,
        documentation: String
    ) {
        self.method = method
        self.path = path
        self.wantsProblemDocument = wantsProblemDocument
        self.isGRPC = isGRPC
        self.decision = decision
        self.now = now
        self.documentation = documentation
    }
}
