// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// One answer of Redis as a value, for calls off the hot path.
package enum RedisReply: Sendable, Equatable {
    case null
    case integer(Int64)
    case status(String)
    case bytes([UInt8])
    case error(String)
    case array([RedisReply])

    /// The integer of an integer or of a decimal string.
    var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .bytes(let bytes): String(validating: bytes, as: UTF8.self).flatMap { Int64($0) }
        case .null, .status, .error, .array: nil
        }
    }

    /// The text of a string in valid UTF-8.
    var text: String? {
        switch self {
        case .bytes(let bytes): String(validating: bytes, as: UTF8.self)
        case .status(let text): text
        case .null, .integer, .error, .array: nil
        }
    }

    /// The bytes of a string.
    var bytes: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    /// The elements of an array; a null array counts as empty.
    var elements: [RedisReply]? {
        switch self {
        case .array(let elements): elements
        case .null: []
        case .integer, .status, .bytes, .error: nil
        }
    }
}
