// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// Writes RESP: an array of bulk strings, straight into a connection's outbound buffer.
extension ByteBuffer {
    /// Begins a command of `count` arguments, its name included.
    @inline(__always)
    package mutating func beginCommand(arguments count: Int) {
        append(UInt8(ascii: "*"))
        append(decimal: count)
        append("\r\n" as StaticString)
    }

    /// Appends one argument.
    @inline(__always)
    package mutating func appendArgument(_ bytes: Span<UInt8>) {
        append(UInt8(ascii: "$"))
        append(decimal: bytes.count)
        append("\r\n" as StaticString)
        append(bytes)
        append("\r\n" as StaticString)
    }

    /// Appends one argument.
    package mutating func appendArgument(utf8 text: String) {
        var text = text
        text.makeContiguousUTF8()
        appendArgument(text.utf8.span)
    }

    /// Appends a number, written in decimal, as one argument.
    @inline(__always)
    package mutating func appendArgument(decimal value: Int) {
        append(UInt8(ascii: "$"))
        append(decimal: value.decimalDigits)
        append("\r\n" as StaticString)
        append(decimal: value)
        append("\r\n" as StaticString)
    }
}

extension Int {
    /// The number of characters that the decimal form takes, sign included.
    var decimalDigits: Int {
        var digits = self < 0 ? 2 : 1
        var rest = magnitude / 10
        while rest > 0 {
            digits += 1
            rest /= 10
        }
        return digits
    }
}

/// One argument of a command off the hot path.
package enum RedisArgument: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case text(String)
    case number(Int)
    case bytes([UInt8])

    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .number(value) }

    func write(to buffer: inout ByteBuffer) {
        switch self {
        case .text(let text): buffer.appendArgument(utf8: text)
        case .number(let number): buffer.appendArgument(decimal: number)
        case .bytes(let bytes): buffer.appendArgument(bytes.span)
        }
    }
}
