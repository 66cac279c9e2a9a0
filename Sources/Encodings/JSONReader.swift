// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension JSONValue {
    /// The value that `bytes` are, by RFC 8259 without its leniencies: UTF-8 only, no byte order mark, no name twice.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .request) throws(JSONError) {
        guard bytes.count <= limits.bytes else { throw JSONError(code: .tooLong, offset: limits.bytes) }
        var reader = JSONReader(bytes: bytes, limits: limits)
        self = try reader.readDocument()
    }

    /// The value that the UTF-8 of `text` is.
    package init(parsing text: String, limits: JSONLimits = .request) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

/// A recursive-descent reader whose recursion is bounded by the depth limit.
private struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var position = 0
    private var values = 0

    init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func readDocument() throws(JSONError) -> JSONValue {
        let value = try readValue(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw failure(.trailingBytes) }
        return value
    }

    private mutating func readValue(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= limits.depth else { throw failure(.tooDeep) }
        values += 1
        guard values <= limits.values else { throw failure(.tooManyValues) }
        skipSpace()
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try readObject(depth: depth))
        case UInt8(ascii: "["): return .array(try readArray(depth: depth))
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        default: return .number(try readNumber())
        }
    }

    private mutating func readObject(depth: Int) throws(JSONError) -> JSONObject {
        var object = JSONObject()
        var names: Set<[UInt8]> = []
        position += 1
        skipSpace()
        if try peek() == UInt8(ascii: "}") {
            position += 1
            return object
        }
        while true {
            skipSpace()
            guard try peek() == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
            let name = try readString()
            guard isNew(name, among: object, &names) else { throw failure(.duplicateName) }
            skipSpace()
            guard try peek() == UInt8(ascii: ":") else { throw failure(.unexpectedByte) }
            position += 1
            object.append(name, try readValue(depth: depth + 1))
            guard try readSeparator(end: UInt8(ascii: "}")) else { return object }
        }
    }

    /// A few names are compared one by one; many are hashed, so that a long object stays linear.
    private func isNew(_ name: String, among object: JSONObject, _ names: inout Set<[UInt8]>) -> Bool {
        if object.members.count < 16 { return object[name] == nil }
        if names.isEmpty { names = Set(object.members.map { Array($0.name.utf8) }) }
        return names.insert(Array(name.utf8)).inserted
    }

    private mutating func readArray(depth: Int) throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        position += 1
        skipSpace()
        if try peek() == UInt8(ascii: "]") {
            position += 1
            return elements
        }
        while true {
            elements.append(try readValue(depth: depth + 1))
            guard try readSeparator(end: UInt8(ascii: "]")) else { return elements }
        }
    }

    /// Whether another element follows.
    private mutating func readSeparator(end: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        let byte = try peek()
        guard byte == UInt8(ascii: ",") || byte == end else { throw failure(.unexpectedByte) }
        position += 1
        return byte != end
    }

    private mutating func readWord(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for character in String(describing: word).utf8 {
            guard try peek() == character else { throw failure(.unexpectedByte) }
            position += 1
        }
        return value
    }

    private mutating func readNumber() throws(JSONError) -> JSONNumber {
        let start = position
        if try peek() == UInt8(ascii: "-") { position += 1 }
        let first = try peek()
        let digits = skipDigits()
        guard digits > 0 else { throw failure(position == start ? .unexpectedByte : .illegalNumber) }
        // RFC 8259 section 6: no leading zeros.
        guard first != UInt8(ascii: "0") || digits == 1 else { throw failure(.illegalNumber) }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw failure(.illegalNumber) }
        }
        if position < bytes.count, bytes[position] | 32 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard skipDigits() > 0 else { throw failure(.illegalNumber) }
        }
        return JSONNumber(unchecked: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
        return position - start
    }

    private mutating func readString() throws(JSONError) -> String {
        position += 1
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                let text = try text(of: bytes[start..<position])
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try readEscaped(from: start) }
            guard byte >= 32 else { throw failure(.illegalText) }
            position += 1
        }
        throw failure(.unexpectedEnd)
    }

    private mutating func readEscaped(from start: Int) throws(JSONError) -> String {
        var plain = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return try text(of: plain[...]) }
            guard byte >= 32 else { throw failure(.illegalText) }
            if byte == UInt8(ascii: "\\") {
                try readEscape(into: &plain)
            } else {
                plain.append(byte)
            }
        }
        throw failure(.unexpectedEnd)
    }

    private mutating func readEscape(into plain: inout [UInt8]) throws(JSONError) {
        let byte = try peek()
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): plain.append(byte)
        case UInt8(ascii: "b"): plain.append(8)
        case UInt8(ascii: "f"): plain.append(12)
        case UInt8(ascii: "n"): plain.append(10)
        case UInt8(ascii: "r"): plain.append(13)
        case UInt8(ascii: "t"): plain.append(9)
        case UInt8(ascii: "u"): plain.append(contentsOf: String(try readUnicodeEscape()).utf8)
        default: throw failure(.illegalEscape)
        }
    }

    /// One `\u` with its four digits, or the two of a surrogate pair; a lone surrogate is no character and refused.
    private mutating func readUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let first = try readHexQuad()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, try peek() == UInt8(ascii: "\\") else { throw failure(.illegalEscape) }
        position += 1
        guard try peek() == UInt8(ascii: "u") else { throw failure(.illegalEscape) }
        position += 1
        let second = try readHexQuad()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw failure(.illegalEscape) }
        return scalar
    }

    private mutating func readHexQuad() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let byte = try peek()
            guard let digit = Hex.value(of: byte) else { throw failure(.illegalEscape) }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private func text(of slice: ArraySlice<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else { throw failure(.illegalText) }
        return text
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 32, 9, 10, 13: position += 1
            default: return
            }
        }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw failure(.unexpectedEnd) }
        return bytes[position]
    }

    private func failure(_ code: JSONError.Code) -> JSONError {
        JSONError(code: code, offset: position)
    }
}
