// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// Reads the line before a chunk: its size and extensions, byte by byte, so that any cut is as good as none.
///
/// RFC 9112 7.1.1: `1*HEXDIG *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ) CRLF`.
struct ChunkLineStateMachine {
    private enum State {
        case size
        /// After blanks that only an extension may follow.
        case beforeSemicolon
        case beforeName
        case name
        /// After a name and blanks.
        case beforeEquals
        case beforeValue
        case value
        case quoted
        case escaped
        /// Right after a closing quote.
        case closed
        case lineFeed
    }

    private var state = State.size
    private var digits = 0
    private(set) var size = 0
    /// The bytes of extensions in this line.
    private(set) var extensionBytes = 0

    /// Takes the next byte; true when it ended the line.
    @inline(__always)
    mutating func take(_ byte: UInt8) throws(HTTPViolation) -> Bool {
        if state == .size, let digit = Hex.value(of: byte) {
            digits += 1
            // Sixteen digits hold every size; the check keeps the sum inside Int.
            guard digits <= 16, size <= Int.max >> 4 else { throw .malformedChunkSize }
            size = size << 4 | Int(digit)
            return false
        }
        return try takeOther(byte)
    }

    private mutating func takeOther(_ byte: UInt8) throws(HTTPViolation) -> Bool {
        if state == .lineFeed {
            guard byte == 0x0a else { throw .bareCarriageReturn }
            return true
        }
        if byte == 0x0a { throw .bareLineFeed }
        if state == .size {
            guard digits > 0 else { throw .malformedChunkSize }
            switch byte {
            case 0x0d: state = .lineFeed
            case 0x3b: state = .beforeName
            case 0x20, 0x09: state = .beforeSemicolon
            default: throw .malformedChunkSize
            }
        } else {
            state = try next(byte)
        }
        if state != .lineFeed { extensionBytes += 1 }
        return false
    }

    /// The state after `byte` of an extension.
    private func next(_ byte: UInt8) throws(HTTPViolation) -> State {
        let kind = ByteClass.table[Int(byte)]
        let isToken = kind & ByteClass.token != 0
        let isBlank = kind & ByteClass.blank != 0
        switch (state, byte) {
        case (.name, 0x0d), (.value, 0x0d), (.closed, 0x0d): return .lineFeed
        case (.name, 0x3b), (.value, 0x3b), (.closed, 0x3b), (.beforeSemicolon, 0x3b), (.beforeEquals, 0x3b):
            return .beforeName
        case (.name, 0x3d), (.beforeEquals, 0x3d): return .beforeValue
        case (.beforeValue, 0x22): return .quoted
        case (.quoted, 0x22): return .closed
        case (.quoted, 0x5c): return .escaped
        case (.quoted, _) where kind & ByteClass.value != 0: return .quoted
        case (.escaped, _) where kind & ByteClass.value != 0: return .quoted
        case (.beforeName, _), (.name, _):
            if isToken { return .name }
            if isBlank { return state == .name ? .beforeEquals : .beforeName }
        case (.beforeValue, _), (.value, _):
            if isToken { return .value }
            if isBlank { return state == .value ? .beforeSemicolon : .beforeValue }
        case (.beforeSemicolon, _), (.beforeEquals, _):
            if isBlank { return state }
        case (.closed, _):
            if isBlank { return .beforeSemicolon }
        case (.size, _), (.quoted, _), (.escaped, _), (.lineFeed, _):
            break
        }
        throw .malformedChunkExtension
    }
}
