// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The head of one request: method, target and fields over one copy of its bytes, checked, with the framing decided.
///
/// Reused from request to request by its exchange. Filled by `RequestParser` or, field by field, by `HTTP2Session`;
/// once filled every value is well-formed and needs no further check.
@usableFromInline
package struct RequestHead: ~Copyable {
    /// The four shapes of a target (RFC 9112 3.2); `authority` never gets past the parser.
    package enum TargetForm: UInt8, Sendable {
        case origin, absolute, asterisk
    }

    /// The fields in the order they came.
    @usableFromInline package var fields = FieldTable()
    /// The method; `methodBytes` spells it.
    package internal(set) var method = Method.get
    /// The version the request came in.
    package internal(set) var version = HTTPVersion.http11
    /// How the target was written.
    package internal(set) var targetForm = TargetForm.origin
    /// Where the body ends.
    package internal(set) var framing = MessageFraming.none
    /// What `Connection` asked for.
    package internal(set) var connection: ConnectionOptions = []
    /// Whether the client waits for `100 Continue` before it sends the body.
    package internal(set) var expectsContinue = false
    /// What `Upgrade` asks for.
    package internal(set) var upgrade = UpgradeRequest.none

    var methodRange = ByteRange()
    var targetRange = ByteRange()
    /// Ends where the query's question mark stands, or with the target.
    var pathEnd: UInt32 = 0
    var authorityRange = ByteRange()

    /// An empty head, ready to be filled.
    package init() {}

    /// Forgets the request and keeps the room.
    package mutating func reset() {
        fields.reset()
        method = .get
        version = .http11
        targetForm = .origin
        framing = .none
        connection = []
        expectsContinue = false
        upgrade = .none
        methodRange = ByteRange()
        targetRange = ByteRange()
        pathEnd = 0
        authorityRange = ByteRange()
    }

    /// The method's token.
    package var methodBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { fields.storage.bytes[methodRange] }
    }

    /// Path and query as they are forwarded: begins with `/`, or is `*`.
    package var target: Span<UInt8> {
        @_lifetime(borrow self)
        get { fields.storage.bytes[targetRange] }
    }

    /// The path as it came, percent-encoding untouched; `*` for the asterisk form.
    package var path: Span<UInt8> {
        @_lifetime(borrow self)
        get { fields.storage.bytes[ByteRange(targetRange.start, pathEnd)] }
    }

    /// What follows the first question mark.
    package var query: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard pathEnd < targetRange.end else { return nil }
            return fields.storage.bytes[ByteRange(pathEnd + 1, targetRange.end)]
        }
    }

    /// `host[:port]` this request is for: of the absolute-form target, else `Host` or `:authority`; empty only in 1.0.
    package var authority: Span<UInt8> {
        @_lifetime(borrow self)
        get { fields.storage.bytes[authorityRange] }
    }

    /// Whether the connection may carry another request after this one.
    package var keepsAlive: Bool {
        switch version {
        case .http10: connection.contains(.keepAlive) && !connection.contains(.close)
        case .http11: !connection.contains(.close)
        case .http2: true
        }
    }
}
