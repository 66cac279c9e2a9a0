// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Follows the frames of one direction of a WebSocket, just far enough to know where one ends (RFC 6455 5.2).
///
/// A relay that has to end tells the peer why in a close frame of its own, and that may only stand between two frames.
package struct WebSocketFrames: Sendable {
    private enum Phase {
        /// The first byte of a frame is next.
        case boundary
        case secondByte
        /// Bytes of the extended length that are still to come.
        case length(Int)
        /// Bytes of the masking key that are still to come.
        case mask(Int)
        case payload
    }

    private var phase = Phase.boundary
    private var isMasked = false
    private var payload: UInt64 = 0
    private var isClose = false
    /// Whether the peer has ended the conversation already: nothing may follow its close frame.
    package private(set) var hasClosed = false

    /// The beginning of a relay.
    package init() {}

    /// Whether a frame of ours may stand here.
    package var isAtBoundary: Bool {
        if case .boundary = phase { true } else { false }
    }

    /// Follows all of `bytes`.
    package mutating func advance(_ bytes: Span<UInt8>) {
        var index = 0
        while index < bytes.count { step(bytes, &index) }
    }

    /// Follows `bytes` as far as the end of the present frame; how many belong to it, all of them if it goes on.
    package mutating func advanceToBoundary(_ bytes: Span<UInt8>) -> Int {
        var index = 0
        while index < bytes.count, !isAtBoundary { step(bytes, &index) }
        return index
    }

    private mutating func step(_ bytes: Span<UInt8>, _ index: inout Int) {
        switch phase {
        case .boundary:
            isClose = bytes[index] & 0x0f == 8
            index += 1
            phase = .secondByte
        case .secondByte:
            let byte = bytes[index]
            index += 1
            isMasked = byte & 0x80 != 0
            payload = 0
            switch byte & 0x7f {
            case 126: phase = .length(2)
            case 127: phase = .length(8)
            case let length:
                payload = UInt64(length)
                lengthRead()
            }
        case .length(let left):
            payload = payload &<< 8 | UInt64(bytes[index])
            index += 1
            if left > 1 { phase = .length(left - 1) } else { lengthRead() }
        case .mask(let left):
            index += 1
            if left > 1 { phase = .mask(left - 1) } else { headRead() }
        case .payload:
            let taken = min(payload, UInt64(bytes.count - index))
            payload -= taken
            index += Int(taken)
            if payload == 0 { ended() }
        }
    }

    private mutating func lengthRead() {
        if isMasked { phase = .mask(4) } else { headRead() }
    }

    private mutating func headRead() {
        if payload == 0 { ended() } else { phase = .payload }
    }

    private mutating func ended() {
        phase = .boundary
        if isClose { hasClosed = true }
    }

    /// A server's close frame; `reason` is a word of ours, and a control frame holds no more than 123 bytes of it.
    package static func close(code: UInt16, reason: String) -> [UInt8] {
        let reason = Array(reason.utf8.prefix(123))
        let head: [UInt8] = [0x88, UInt8(reason.count + 2), UInt8(code >> 8), UInt8(truncatingIfNeeded: code)]
        return head + reason
    }
}
