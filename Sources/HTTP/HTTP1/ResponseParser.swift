// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads HTTP/1.1 and 1.0 answers of upstreams as strictly as requests are read.
///
/// The one thing forgiven is a status line that ends right after the code, which old servers send and nobody can read
/// in two ways. After `.head` the parser is ready for the next head: the final one after an interim one too.
package struct ResponseParser: ~Copyable {
    private enum Phase {
        case version
        case status
        case reason
        case fields
        case failed
    }

    private let limits: ParserLimits
    private var phase = Phase.version
    private var position = 0
    private var version = HTTPVersion.http11
    private var status = 0
    private var reasonRange = ByteRange()
    private var scanner = FieldScanner()

    /// A parser at the start of a connection.
    package init(limits: ParserLimits = ParserLimits()) {
        self.limits = limits
    }

    /// Reads on; fills `head` once all of it is there.
    ///
    /// `method` is the method of the request being answered: it decides whether a body can follow.
    package mutating func parse(
        _ bytes: Span<UInt8>,
        into head: inout ResponseHead,
        answering method: Method
    ) throws(HTTPViolation) -> ParseProgress {
        do {
            return try advance(bytes, &head, method)
        } catch {
            phase = .failed
            throw error
        }
    }

    @inline(__always)
    private mutating func advance(
        _ bytes: Span<UInt8>,
        _ head: inout ResponseHead,
        _ method: Method
    ) throws(HTTPViolation) -> ParseProgress {
        if phase == .version {
            guard let version = try VersionReader.read(bytes, at: 0) else { return .needMore }
            head.reset()
            self.version = version
            position = VersionReader.length
            phase = .status
        }
        if phase == .status {
            guard try readStatus(bytes) else { return .needMore }
        }
        if phase == .reason {
            guard try readReason(bytes) else { return .needMore }
        }
        // After a refusal there is nothing left to read.
        guard phase == .fields else { throw .malformedStartLine }
        guard try scanner.scan(bytes, limits: limits, into: &head.fields) else { return .needMore }
        let consumed = scanner.position
        head.version = version
        head.status = status
        head.fields.commit(bytes.extracting(0..<consumed), scanner.tally)
        head.reasonRange = reasonRange
        try head.complete(answering: method)
        phase = .version
        position = 0
        return .head(consumed: consumed)
    }

    /// RFC 9112 4: SP, three digits, then SP or (forgiven) the end of the line.
    private mutating func readStatus(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        let available = bytes.count - position
        if available > 0, bytes[position] != 0x20 { throw .malformedStatus }
        for index in 1..<4 where index < available && !bytes[position + index].isASCIIDigit {
            throw .malformedStatus
        }
        guard available > 4 else { return false }
        let hundreds = Int(bytes[position + 1] &- 0x30)
        let status = hundreds * 100 + Int(bytes[position + 2] &- 0x30) * 10 + Int(bytes[position + 3] &- 0x30)
        // RFC 9110 15: codes outside 100 to 599 are invalid.
        guard hundreds >= 1, hundreds <= 5 else { throw .malformedStatus }
        self.status = status
        switch bytes[position + 4] {
        case 0x20: position += 5
        case 0x0d: position += 4
        default: throw .malformedStatus
        }
        reasonRange = ByteRange(position, position)
        phase = .reason
        return true
    }

    private mutating func readReason(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        let at = ByteScan.endOfValue(bytes, from: position)
        position = at
        if at > limits.startLine { throw .startLineTooLong }
        guard at < bytes.count else { return false }
        guard bytes[at] == 0x0d else { throw bytes[at] == 0x0a ? .bareLineFeed : .controlByte }
        guard at + 1 < bytes.count else { return false }
        guard bytes[at + 1] == 0x0a else { throw .bareCarriageReturn }
        reasonRange.end = UInt32(truncatingIfNeeded: at)
        scanner = FieldScanner(at: at + 2)
        phase = .fields
        return true
    }
}
