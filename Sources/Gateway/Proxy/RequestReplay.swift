// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// The start of a request's body, kept while the upstream may still say that it did nothing about the request.
///
/// A body that outgrows the limit is not kept, and its request is sent only once.
struct RequestReplay: ~Copyable {
    /// Enough for the usual call of an API; more would make every upload cost its size.
    static let limit = 16 << 10

    private(set) var bytes = ByteBuffer()
    /// Whether `bytes` is all that was sent.
    private(set) var isWhole = true

    /// Keeps a part of the body that is being sent.
    mutating func keep(_ part: Span<UInt8>) {
        guard isWhole else { return }
        guard bytes.count + part.count <= Self.limit else { return giveUp() }
        bytes.append(part)
    }

    /// The request cannot be sent again.
    mutating func giveUp() {
        isWhole = false
        bytes.release()
    }

    /// Makes it new for the next request.
    mutating func reset() {
        isWhole = true
        bytes.release()
    }
}
