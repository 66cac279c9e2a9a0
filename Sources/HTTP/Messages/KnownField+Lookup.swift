// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

extension KnownField {
    /// The field `name` stands for, letters of either case alike; `.other` for what is no token.
    package init(_ name: Span<UInt8>) {
        var classes: UInt8 = 0
        var isToken = true
        for index in name.indices {
            let kind = ByteClass.table[Int(name[index])]
            classes |= kind
            if kind & ByteClass.token == 0 { isToken = false }
        }
        guard isToken else {
            self = .other
            return
        }
        self.init(name, hasHyphenLike: classes & ByteClass.hyphenLike != 0)
    }

    /// The field `name`, made of token characters only, stands for.
    @inline(__always)
    init(_ name: Span<UInt8>, hasHyphenLike: Bool) {
        guard !hasHyphenLike else {
            self = KnownField(mapping: name)
            return
        }
        let words = NameWords(name)
        if words.isGatewayPrefixed(name) {
            self = .gatewayPrefixed
            return
        }
        let field = NameIndex.shared.field(name, words)
        self = field == .other && words.isForwardedPrefixed(name) ? .forwardedPrefixed : field
    }

    /// A name with a byte that CGI-like back ends read as a hyphen is never itself a known one, but may turn into one
    /// further on: `sallyport.app`, `Content_Length` and `X~App-Id` all do.
    @inline(never)
    private init(mapping name: Span<UInt8>) {
        var mapped: [UInt8] = []
        mapped.reserveCapacity(name.count)
        for index in name.indices {
            mapped.append(ByteClass.table[Int(name[index])] & ByteClass.hyphenLike != 0 ? 0x2d : name[index])
        }
        let field = KnownField(mapped.span, hasHyphenLike: false)
        self =
            switch field {
            case .other: .other
            case .gatewayPrefixed: .gatewayPrefixed
            default: .alias
            }
    }
}

/// A name as words with letters in lower case: the first and last eight bytes decide up to
/// sixteen, the inner ones more.
///
/// Setting bit 5 folds the case of letters and leaves digits and hyphens alone; no other token character becomes a
/// letter, digit or hyphen by it, so equal words mean equal names.
struct NameWords {
    var count: Int
    var first: UInt64 = 0
    var last: UInt64 = 0
    private static var fold: UInt64 { 0x2020_2020_2020_2020 }

    @inline(__always)
    init(_ name: Span<UInt8>) {
        count = name.count
        if count >= 8 {
            first = name.word(at: 0) | Self.fold
            last = name.word(at: count &- 8) | Self.fold
        } else {
            for index in 0..<count { first = first &<< 8 | UInt64(name[index] | 0x20) }
        }
    }

    /// Begins with `sallyport-`.
    @inline(__always)
    fileprivate func isGatewayPrefixed(_ name: Span<UInt8>) -> Bool {
        // "sallypor", read little-endian.
        first == 0x726f_7079_6c6c_6173 && count >= 10 && name[8] | 0x20 == 0x74 && name[9] == 0x2d
    }

    /// Begins with `x-forwarded-`.
    @inline(__always)
    fileprivate func isForwardedPrefixed(_ name: Span<UInt8>) -> Bool {
        // "x-forwar", read little-endian.
        first == 0x7261_7772_6f66_2d78 && count >= 12 && name[8] | 0x20 == 0x64 && name[9] | 0x20 == 0x65
            && name[10] | 0x20 == 0x64 && name[11] == 0x2d
    }

    @inline(__always)
    var hash: Int {
        let mixed = (first ^ (last &<< 23 | last &>> 41) ^ UInt64(truncatingIfNeeded: count)) &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed &>> 55)
    }
}

/// Every known name by its words, in an open hash table four times too large.
///
/// A class, so that the tables are read where they lie.
final class NameIndex: Sendable {
    static let shared = NameIndex()

    private let buckets: InlineArray<512, UInt8>
    private let firsts: InlineArray<128, UInt64>
    private let lasts: InlineArray<128, UInt64>
    private let counts: InlineArray<128, Int>
    private let names: [[UInt8]]

    private init() {
        var buckets = InlineArray<512, UInt8>(repeating: 0)
        var firsts = InlineArray<128, UInt64>(repeating: 0)
        var lasts = InlineArray<128, UInt64>(repeating: 0)
        var counts = InlineArray<128, Int>(repeating: 0)
        var names: [[UInt8]] = []
        for field in KnownField.allCases {
            let name = Array("\(field.canonicalName)".utf8)
            names.append(name)
            guard !name.isEmpty else { continue }
            let words = NameWords(name.span)
            firsts[Int(field.rawValue)] = words.first
            lasts[Int(field.rawValue)] = words.last
            counts[Int(field.rawValue)] = words.count
            var bucket = words.hash
            while buckets[bucket] != 0 { bucket = (bucket + 1) & 511 }
            buckets[bucket] = field.rawValue
        }
        self.buckets = buckets
        self.firsts = firsts
        self.lasts = lasts
        self.counts = counts
        self.names = names
    }

    @inline(__always)
    func field(_ name: Span<UInt8>, _ words: NameWords) -> KnownField {
        var bucket = words.hash
        while buckets[bucket] != 0 {
            let id = Int(buckets[bucket])
            if firsts[id] == words.first, lasts[id] == words.last, counts[id] == words.count,
                words.count <= 16 || isSame(name, id)
            {
                return KnownField(rawValue: UInt8(truncatingIfNeeded: id)) ?? .other
            }
            bucket = (bucket &+ 1) & 511
        }
        return .other
    }

    private func isSame(_ name: Span<UInt8>, _ id: Int) -> Bool {
        let known = names[id]
        return known.span.equalsIgnoringCase(name)
    }
}
