// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads the field lines of a head or trailer section, up to and with the empty line, and remembers where it stopped.
///
/// RFC 9112 5: no space before the colon, no folding, CRLF only. Shared by requests, answers and trailers.
struct FieldScanner {
    private enum Phase {
        /// At the first byte of a line.
        case line
        /// Inside a name.
        case name
        /// Between the colon and the value.
        case lead
        /// Inside a value.
        case value
    }

    private var phase = Phase.line
    private var slot = FieldTable.Slot()
    /// The fields found so far; the table shows them once the section is committed.
    private(set) var tally = FieldTable.Tally()
    private var classes: UInt8 = 0
    /// Where the section begins.
    private var start = 0
    /// The first byte not looked at.
    private(set) var position = 0

    /// A scanner whose section begins at `position`.
    init(at position: Int = 0) {
        start = position
        self.position = position
    }

    /// Reads on; true once the empty line is behind `position`.
    @inline(__always)
    mutating func scan(
        _ bytes: Span<UInt8>,
        limits: ParserLimits,
        into fields: inout FieldTable
    ) throws(HTTPViolation) -> Bool {
        let end = bytes.count
        while true {
            switch phase {
            case .line:
                guard position < end else { break }
                let byte = bytes[position]
                if byte == 0x0d {
                    guard position &+ 1 < end else { break }
                    guard bytes[position &+ 1] == 0x0a else { throw .bareCarriageReturn }
                    position &+= 2
                    try checkSize(limits)
                    return true
                }
                if byte == 0x20 || byte == 0x09 { throw .lineFolding }
                guard tally.count < limits.fieldCount, tally.count < FieldTable.mostFields else {
                    throw .tooManyFields
                }
                slot.start = UInt32(truncatingIfNeeded: position)
                classes = 0
                phase = .name
                continue
            case .name:
                guard try scanName(bytes) else { break }
                continue
            case .lead:
                while position < end, bytes[position] == 0x20 || bytes[position] == 0x09 { position &+= 1 }
                guard position < end else { break }
                slot.valueStart = UInt32(truncatingIfNeeded: position)
                phase = .value
                continue
            case .value:
                guard try scanValue(bytes) else { break }
                try checkSize(limits)
                fields.record(slot, &tally)
                phase = .line
                continue
            }
            try checkSize(limits, upTo: end)
            return false
        }
    }

    @inline(__always)
    private mutating func scanName(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        var at = position
        var seen = classes
        while at < bytes.count {
            at = ByteScan.endOfPlainName(bytes, from: at)
            guard at < bytes.count else { break }
            let byte = bytes[at]
            let kind = ByteClass.table[Int(byte)]
            if kind & ByteClass.token == 0 {
                let length = at &- Int(slot.start)
                guard byte == 0x3a, length > 0 else {
                    throw byte == 0x0a ? .bareLineFeed : .malformedFieldName
                }
                guard length <= FieldTable.longestName else { throw .fieldsTooLarge }
                slot.nameLength = UInt16(truncatingIfNeeded: length)
                slot.known = KnownField(
                    bytes.extracting(Int(slot.start)..<at),
                    hasHyphenLike: seen & ByteClass.hyphenLike != 0
                )
                position = at &+ 1
                phase = .lead
                return true
            }
            seen |= kind
            at &+= 1
        }
        classes = seen
        position = at
        return false
    }

    @inline(__always)
    private mutating func scanValue(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        var at = ByteScan.endOfValue(bytes, from: position)
        position = at
        guard at < bytes.count else { return false }
        guard bytes[at] == 0x0d else {
            throw bytes[at] == 0x0a ? .bareLineFeed : .controlByte
        }
        guard at &+ 1 < bytes.count else { return false }
        guard bytes[at &+ 1] == 0x0a else { throw .bareCarriageReturn }
        let start = Int(slot.valueStart)
        position = at &+ 2
        while at > start, ByteClass.table[Int(bytes[at &- 1])] & ByteClass.blank != 0 { at &-= 1 }
        slot.valueEnd = UInt32(truncatingIfNeeded: at)
        slot.end = UInt32(truncatingIfNeeded: position)
        return true
    }

    @inline(__always)
    private func checkSize(_ limits: ParserLimits, upTo end: Int? = nil) throws(HTTPViolation) {
        if (end ?? position) &- start > limits.fieldBytes { throw .fieldsTooLarge }
    }
}
