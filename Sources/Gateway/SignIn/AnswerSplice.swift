// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// An upstream's JSON answer with one member put into its `data`; every other byte stays as it came.
struct AnswerSplice: Sendable {
    private let bytes: [UInt8]
    /// The object `data`, both braces included.
    private let data: Range<Int>
    private let members: [Member]

    /// The longest answer that is spliced; a longer one passes untouched.
    static let mostBytes = 1 << 20
    /// The longest that is read on the loop: more takes more than a quarter of a millisecond.
    static let mostOnLoop = 16 << 10

    /// Fields that speak of the very bytes of a body, of parts of it, or of both (RFC 9110 14, RFC 9530, RFC 9421):
    /// they are not true of a spliced one.
    static let untrueFields: Set<String> = [
        "accept-ranges", "content-digest", "content-md5", "content-range", "digest", "repr-digest", "signature",
        "signature-input",
    ]

    /// The entity tag of a spliced answer: what was strong is weak, because the bytes differ (RFC 9110 8.8.1).
    static func entityTag(_ tag: String) -> String {
        tag.hasPrefix("W/") ? tag : "W/" + tag
    }

    /// Whether a successful answer of this status has a whole representation in it.
    static func mayHold(_ status: Int) -> Bool {
        status != 204 && status != 205 && status != 206
    }

    private static let limits = JSONLimits(bytes: mostBytes, depth: 64, values: 1 << 18)

    /// One member of `data`: its name, and where its value stands.
    private struct Member: Sendable {
        let name: String
        let value: Range<Int>
    }

    /// Reads an answer, or says why it passes untouched: it is no JSON object with one object `data`.
    init(_ bytes: [UInt8]) throws(SpliceFault) {
        // Read strictly first: no name twice anywhere, so that what we find is what every reader finds.
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, limits: Self.limits)
        } catch {
            throw SpliceFault(error)
        }
        guard let found = value["data"] else { throw .noData }
        let scan = Scan(bytes: bytes)
        guard found.object != nil, let data = scan.members(at: 0).first(where: { $0.name == "data" })?.value else {
            throw .dataNotObject
        }
        self.bytes = bytes
        self.data = data
        self.members = scan.members(at: data.lowerBound)
    }

    /// The text of a member of `data`; nil when it is missing or no text.
    func text(of name: String) -> String? {
        guard let range = members.first(where: { $0.name == name })?.value else { return nil }
        return Scan.text(bytes[range])
    }

    /// The answer with `data.attestation` set to `value`; one that the upstream wrote itself is replaced.
    func setting(attestation value: [UInt8]) -> [UInt8] {
        if let present = members.first(where: { $0.name == "attestation" }) {
            return Array(bytes[..<present.value.lowerBound]) + value + bytes[present.value.upperBound...]
        }
        // After the last value rather than before the brace: white space stays where it was.
        let end = members.last?.value.upperBound ?? data.lowerBound + 1
        let comma = members.isEmpty ? "" : ","
        return Array(bytes[..<end]) + Array("\(comma)\"attestation\":".utf8) + value + bytes[end...]
    }

    /// Walks over JSON that is known to be well formed.
    private struct Scan {
        let bytes: [UInt8]

        /// The members of the object whose brace is the first byte but spaces from `start`.
        func members(at start: Int) -> [Member] {
            var position = skipSpace(start) + 1
            var members: [Member] = []
            while position < bytes.count {
                position = skipSpace(position)
                guard bytes[position] == UInt8(ascii: "\"") else { break }
                let nameEnd = endOfString(position)
                let name = Self.text(bytes[position..<nameEnd]) ?? ""
                let valueStart = skipSpace(skipSpace(nameEnd) + 1)
                let valueEnd = endOfValue(valueStart)
                members.append(Member(name: name, value: valueStart..<valueEnd))
                position = skipSpace(valueEnd)
                guard position < bytes.count, bytes[position] == UInt8(ascii: ",") else { break }
                position += 1
            }
            return members
        }

        static func text(_ literal: ArraySlice<UInt8>) -> String? {
            guard
                case .success(let value) = Result(catching: { () throws(JSONError) in
                    try JSONValue(parsing: Array(literal), limits: limits)
                })
            else { return nil }
            return value.string
        }

        private func skipSpace(_ start: Int) -> Int {
            var position = start
            while position < bytes.count, [32, 9, 10, 13].contains(bytes[position]) { position += 1 }
            return position
        }

        private func endOfString(_ start: Int) -> Int {
            var position = start + 1
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            return min(position + 1, bytes.count)
        }

        private func endOfValue(_ start: Int) -> Int {
            var position = start
            var depth = 0
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "\""):
                    position = endOfString(position)
                    if depth == 0 { return position }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return position }
                    depth -= 1
                    if depth == 0 { return position + 1 }
                case UInt8(ascii: ","), 32, 9, 10, 13:
                    if depth == 0 { return position }
                default: break
                }
                position += 1
            }
            return position
        }
    }
}

/// Why a sign-in's answer passes untouched; the raw value is the word of the log.
enum SpliceFault: String, Error {
    case notJSON = "not_json"
    /// Readers take the first or the last of two members of one name: what was added to one might not be seen.
    case repeatedName = "repeated_name"
    case tooLong = "too_long"
    case noData = "no_data"
    case dataNotObject = "data_not_an_object"

    init(_ error: JSONError) {
        switch error.code {
        case .duplicateName: self = .repeatedName
        case .tooLong, .tooDeep, .tooManyValues: self = .tooLong
        case .unexpectedEnd, .unexpectedByte, .illegalNumber, .illegalEscape, .illegalText, .trailingBytes:
            self = .notJSON
        }
    }
}
