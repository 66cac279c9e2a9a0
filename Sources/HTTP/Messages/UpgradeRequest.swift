// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// What a request wants its connection to become.
package enum UpgradeRequest: UInt8, Sendable {
    /// Nothing; an `Upgrade` without `Connection: upgrade` counts as nothing (RFC 9110 7.8).
    case none
    /// A complete WebSocket handshake: GET, version 13, one key of 16 bytes.
    case webSocket
    /// Another protocol, or a broken handshake; refuse it or answer as if it had not been asked.
    case unsupported
}
