// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Crypto
import Encodings
import HTTP

/// Whether a 101 is the answer to the WebSocket handshake that was sent (RFC 6455 4.1).
///
/// A server that says 101 without having read the handshake still reads HTTP: what the client sends as frames, it would
/// take for requests that nobody judged.
enum WebSocketHandshake {
    /// Whether `response` accepts the handshake of `request`.
    static func isAccepted(_ request: borrowing RequestHead, by response: borrowing ResponseHead) -> Bool {
        guard request.upgrade == .webSocket, let key = request.fields.first(.secWebSocketKey),
            response.connection.contains(.upgrade), !response.fields.isRepeated(.upgrade),
            let name = response.fields.first(.upgrade), name.equalsIgnoringCase("websocket"),
            !response.fields.isRepeated(.secWebSocketAccept), let accept = response.fields.first(.secWebSocketAccept)
        else { return false }
        return accept.equals(answer(to: key.lossyText))
    }

    /// What `Sec-WebSocket-Accept` must say to a key (RFC 6455 4.2.2).
    static func answer(to key: String) -> String {
        Base64.encode(SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}
