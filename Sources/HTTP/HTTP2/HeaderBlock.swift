// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers

/// A list of fields ready to be compressed: all bytes in one buffer, so that one borrowed pointer serves all.
struct HeaderBlock: ~Copyable {
    /// Where one field lies in `bytes`.
    struct Entry: BitwiseCopyable {
        var start: Int
        var nameLength: Int
        var valueLength: Int
        /// Whether no compressor along the way may remember the value (RFC 7541 7.1.3).
        var isSensitive: Bool
    }

    private(set) var bytes = ByteBuffer()
    private(set) var entries: [Entry] = []

    init() {}

    mutating func reset() {
        bytes.removeAll()
        entries.removeAll(keepingCapacity: true)
    }

    mutating func append(name: StaticString, value: Span<UInt8>) {
        let start = bytes.count
        bytes.append(name)
        append(value, start, name.utf8CodeUnitCount, isSensitive: false)
    }

    mutating func append(name: StaticString, number: Int) {
        let start = bytes.count
        bytes.append(name)
        let length = bytes.count
        bytes.append(decimal: number)
        entries.append(
            Entry(start: start, nameLength: length - start, valueLength: bytes.count - length, isSensitive: false)
        )
    }

    /// Appends the fields that are not dropped, in `skipped`, or forbidden in HTTP/2.
    mutating func append(_ fields: borrowing FieldTable, skipping skipped: KnownFieldSet) {
        let skipped = skipped.union(.hopByHop)
        for index in 0..<fields.count {
            let known = fields.field(at: index)
            if fields.isDropped(at: index) || skipped.contains(known) { continue }
            let name = fields.name(at: index)
            let start = bytes.count
            bytes.append(lowercasing: name)
            append(fields.value(at: index), start, name.count, isSensitive: KnownFieldSet.secrets.contains(known))
        }
    }

    /// Appends fields of our own, given as the lines that HTTP/1.1 would send; nothing that
    /// HTTP/2 forbids is among them.
    mutating func append(lines: Span<UInt8>) {
        var at = 0
        while at < lines.count {
            let start = bytes.count
            let nameStart = at
            while at < lines.count, lines[at] != 0x3a { at &+= 1 }
            let name = lines.extracting(nameStart..<at)
            bytes.append(lowercasing: name)
            let valueStart = min(at &+ 2, lines.count)
            let end = ByteScan.endOfValue(lines, from: valueStart)
            let isSensitive = KnownFieldSet.secrets.contains(KnownField(name))
            append(lines.extracting(valueStart..<end), start, name.count, isSensitive: isSensitive)
            at = end &+ 2
        }
    }

    private mutating func append(_ value: Span<UInt8>, _ start: Int, _ nameLength: Int, isSensitive: Bool) {
        bytes.append(value)
        entries.append(
            Entry(start: start, nameLength: nameLength, valueLength: value.count, isSensitive: isSensitive)
        )
    }
}

extension KnownFieldSet {
    /// Fields whose values are secrets.
    static let secrets: KnownFieldSet = [.authorization, .cookie, .setCookie, .xAPIKey, .xClientAuthorization]
}
