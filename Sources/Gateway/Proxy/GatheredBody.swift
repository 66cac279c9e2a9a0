// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// A request's body, read whole up to a limit.
@Reactor
final class GatheredBody {
    private(set) var bytes: [UInt8] = []
    /// The most it takes, in bytes.
    let most: Int
    private let trailers = FieldTable()

    init(most: Int) {
        self.most = most
    }

    /// Takes more; false when it is too much.
    func append(_ more: Span<UInt8>) -> Bool {
        guard more.count <= most - bytes.count else { return false }
        bytes.append(contentsOf: more)
        return true
    }

    /// Shows an empty table of trailers: those of a body that was read whole are not kept.
    func withTrailers(_ show: (borrowing FieldTable) -> Void) {
        show(trailers)
    }
}
