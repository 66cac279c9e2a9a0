// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// A request method; `.other` is any other token, whose bytes the head keeps.
package enum Method: UInt8, BitwiseCopyable, Sendable {
    case get, head, post, put, delete, options, patch, trace, connect, other

    /// The method a token names; methods are case-sensitive (RFC 9110 9.1).
    package init(_ token: Span<UInt8>) {
        var packed: UInt64 = 0
        guard token.count <= 7 else {
            self = .other
            return
        }
        for index in token.indices { packed = packed &<< 8 | UInt64(token[index]) }
        self =
            switch packed {
            case 0x47_4554: .get
            case 0x4845_4144: .head
            case 0x504f_5354: .post
            case 0x50_5554: .put
            case 0x4445_4c45_5445: .delete
            case 0x4f_5054_494f_4e53: .options
            case 0x50_4154_4348: .patch
            case 0x54_5241_4345: .trace
            case 0x43_4f4e_4e45_4354: .connect
            default: .other
            }
    }
}
