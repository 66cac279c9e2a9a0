// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Glibc

/// What must hold for every input of a reader: it never traps, and what it accepts it can write back unchanged.
package enum ReaderProperties {
    /// CBOR accepted is CBOR in the one form that our writer has.
    package static func cbor(_ bytes: [UInt8]) {
        do {
            let value = try CBORReader.value(of: bytes)
            require(value.encoded == bytes, "a second form of one CBOR value was accepted")
        } catch {
            return
        }
    }

    /// Every DER element accepted is written back byte for byte.
    package static func der(_ bytes: [UInt8]) {
        walk(DERCursor(bytes), depth: 0)
    }

    private static func walk(_ cursor: DERCursor, depth: Int) {
        guard depth < 32 else { return }
        var cursor = cursor
        while !cursor.isAtEnd {
            do {
                let element = try cursor.next()
                require(
                    DERWriter.element(element.tag, element.bytes) == element.encoded,
                    "a second form of one DER element was accepted"
                )
                readAll(element)
                if element.tag.isConstructed { walk(element.cursor, depth: depth + 1) }
            } catch {
                return
            }
        }
    }

    private static func readAll(_ element: DERElement) {
        if let number = try? element.integer() {
            let bytes = (try? element.integerBytes()).map { Array($0) } ?? []
            require(number >= 0 || bytes[0] >= 128, "the sign of a number changed")
        }
        if let seconds = try? element.seconds(), element.tag == .utcTime {
            require(DERWriter.time(seconds) == element.encoded, "a second form of one time was accepted")
        }
        if let identifier = try? element.identifier() {
            require(DERWriter.identifier(identifier) == element.encoded, "an identifier changed")
        }
        _ = try? element.boolean()
        _ = try? element.wholeBits()
    }

    /// JSON accepted means the same when it is written and read again.
    package static func json(_ bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes) else { return }
        var writer = JSONWriter()
        writer.value(value)
        guard let again = try? JSONValue(parsing: writer.bytes, limits: .document) else {
            return require(false, "what was written does not read")
        }
        require(again == value, "a JSON value changed by being written")
    }

    /// Base64 accepted is the one text of its bytes; PEM and hexadecimal likewise.
    package static func text(_ bytes: [UInt8]) {
        if let plain = try? Base64.decode(bytes.span) {
            require(Array(Base64.encode(plain).utf8) == bytes, "a second base64 text of the same bytes")
        }
        if let plain = try? Base64.decode(bytes.span, alphabet: .urlSafe, padding: .forbidden) {
            require(Array(Base64.encodeURL(plain).utf8) == bytes, "a second base64url text of the same bytes")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if let plain = try? Hex.decode(text) {
            require(Hex.encode(plain) == text.lowercased(), "hexadecimal changed")
        }
        if let blocks = try? PEM.blocks(in: text) {
            let again = try? PEM.blocks(in: blocks.map(\.text).joined())
            require(again == blocks, "PEM blocks changed by being written")
        }
        if let milliseconds = InternetTime.milliseconds(of: text) {
            let again = InternetTime.milliseconds(of: InternetTime.text(milliseconds: milliseconds))
            require(again == milliseconds, "a time changed by being written")
        }
    }

    /// Ends the process with the sentence that does not hold: the fuzzer keeps the input.
    static func require(_ condition: Bool, _ sentence: String) {
        guard !condition else { return }
        let line = Array("PROPERTY: \(sentence)\n".utf8)
        unsafe write(STDERR_FILENO, line, line.count)
        abort()
    }
}
