// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a stream or a connection ended (RFC 9113 7).
package struct HTTP2ErrorCode: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// All is well.
    package static let noError = HTTP2ErrorCode(rawValue: 0)
    /// The peer broke the protocol.
    package static let protocolError = HTTP2ErrorCode(rawValue: 1)
    /// We failed.
    package static let internalError = HTTP2ErrorCode(rawValue: 2)
    /// A frame came for a stream that was over.
    package static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    /// Nothing was done about the stream: it may be sent again.
    package static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    /// Nobody waits for the stream any more.
    package static let cancel = HTTP2ErrorCode(rawValue: 8)
    /// The peer does too much.
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)

    /// The name of a registered code in lower case (RFC 9113 7).
    package var name: String? {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : nil
    }

    private static let names = [
        "no_error", "protocol_error", "internal_error", "flow_control_error", "settings_timeout", "stream_closed",
        "frame_size_error", "refused_stream", "cancel", "compression_error", "connect_error", "enhance_your_calm",
        "inadequate_security", "http_1_1_required",
    ]
}
