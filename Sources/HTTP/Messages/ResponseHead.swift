// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The head of one answer of an upstream, checked, with the framing decided.
///
/// Reused by its exchange. 1xx heads arrive like any other: the caller looks at `status` and parses on.
package struct ResponseHead: ~Copyable {
    /// The fields in the order they came.
    package var fields = FieldTable()
    /// The status code, 100 to 599.
    package internal(set) var status = 0
    /// The version the upstream speaks.
    package internal(set) var version = HTTPVersion.http11
    /// Where the body ends.
    package internal(set) var framing = MessageFraming.none
    /// What `Connection` said.
    package internal(set) var connection: ConnectionOptions = []

    var reasonRange = ByteRange()

    /// An empty head, ready to be filled.
    package init() {}

    /// Forgets the answer and keeps the room.
    package mutating func reset() {
        fields.reset()
        status = 0
        version = .http11
        framing = .none
        connection = []
        reasonRange = ByteRange()
    }

    /// The reason phrase as it came; may be empty.
    package var reason: Span<UInt8> {
        @_lifetime(borrow self)
        get { fields.storage.bytes[reasonRange] }
    }

    /// Whether this is an interim answer; 101 is final.
    package var isInterim: Bool {
        status < 200 && status != 101
    }

    /// Whether the upstream connection may be used again once the body is over.
    package var keepsAlive: Bool {
        switch version {
        case .http10: connection.contains(.keepAlive) && !connection.contains(.close) && framing != .untilClose
        case .http11: !connection.contains(.close) && framing != .untilClose
        case .http2: true
        }
    }

    /// Fields that may not be relayed whatever the route says: hop-by-hop, those that only we may say of ourselves, and
    /// framing fields where no body can be.
    package var fieldsNotRelayed: KnownFieldSet {
        let never = KnownFieldSet.hopByHop.union([.gatewayPrefixed])
        // RFC 9110 8.6, RFC 9112 6.1: neither field belongs in 1xx and 204.
        return status < 200 || status == 204 ? never.union([.contentLength]) : never
    }
}
