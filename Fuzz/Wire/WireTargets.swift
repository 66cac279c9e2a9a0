// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

/// Every property of the wire by name; the fuzzer and the test of kept inputs choose from it.
package enum WireTargets {
    /// The names and bodies.
    package static let all: [(name: String, body: @Sendable ([UInt8]) -> Void)] = [
        ("request", { MessageProperties.requests($0) }),
        ("response", { MessageProperties.responses($0) }),
        ("chunked", { MessageProperties.chunked($0) }),
        ("http2-server", { HTTP2Properties.server($0) }),
        ("http2-client", { HTTP2Properties.client($0) }),
        ("proxy", { AddressProperties.proxyHeader($0) }),
        ("path", { AddressProperties.path($0) }),
        ("configuration", { TextProperties.configuration($0) }),
        ("jose", { TextProperties.token($0) }),
    ]
}

/// Ends the run with the sentence that does not hold; a release build's own traps say nothing.
func require(_ holds: Bool, _ sentence: @autoclosure () -> String) {
    guard !holds else { return }
    let line = Array((sentence() + "\n").utf8)
    _ = unsafe write(STDERR_FILENO, line, line.count)
    preconditionFailure("a property does not hold")
}

/// The sizes of the pieces some bytes come in, drawn from the bytes themselves so that a run can be repeated.
struct Cuts {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    init(of bytes: [UInt8]) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    mutating func next() -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        // Mostly small ones: what is cut is what is between two bytes.
        let most: UInt64 = state & 3 == 0 ? 600 : 9
        return 1 + Int((state >> 8) % most)
    }

    /// The pieces that make up `count` bytes.
    mutating func pieces(of count: Int) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        var at = 0
        while at < count {
            let end = min(count, at + next())
            pieces.append(at..<end)
            at = end
        }
        return pieces
    }
}
