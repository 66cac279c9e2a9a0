// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Reads HTTP/1.1 and 1.0 request heads strictly: refuses, never repairs (RFC 9112).
///
/// Offer it the unconsumed bytes of the connection from the front; it remembers how far it looked, so slow clients cost
/// no second scan. After `.head` it is ready for the next request; after a violation the connection must end.
package struct RequestParser: ~Copyable {
    private enum Phase {
        /// Before the first byte of a request; empty lines are forgiven here.
        case start
        case method
        case target
        case version
        case fields
        case failed
    }

    private let limits: ParserLimits
    private var phase = Phase.start
    private var position = 0
    private var emptyLines = 0
    private var line = RequestLine()
    private var scanner = FieldScanner()

    /// A parser at the start of a connection.
    package init(limits: ParserLimits = ParserLimits()) {
        self.limits = limits
    }

    /// Reads on; fills `head`, which the parser resets itself, once all of it is there.
    ///
    /// Before that, and after a refusal, `head` reads as empty or as far as it was understood: never out of bounds.
    package mutating func parse(
        _ bytes: Span<UInt8>,
        into head: inout RequestHead
    ) throws(HTTPViolation) -> ParseProgress {
        do {
            return try advance(bytes, &head)
        } catch {
            phase = .failed
            throw error
        }
    }

    @inline(__always)
    private mutating func advance(
        _ bytes: Span<UInt8>,
        _ head: inout RequestHead
    ) throws(HTTPViolation) -> ParseProgress {
        if phase == .start {
            guard try skipEmptyLines(bytes) else { return .needMore }
            head.reset()
            line.methodRange.start = UInt32(truncatingIfNeeded: position)
            phase = .method
        }
        if phase == .method {
            guard try readMethod(bytes) else { return .needMore }
        }
        if phase == .target {
            guard try readTarget(bytes) else { return .needMore }
        }
        if phase == .version {
            guard try readVersion(bytes) else { return .needMore }
        }
        // After a refusal there is nothing left to read.
        guard phase == .fields else { throw .malformedStartLine }
        guard try scanner.scan(bytes, limits: limits, into: &head.fields) else { return .needMore }
        let consumed = scanner.position
        try head.complete(bytes.extracting(0..<consumed), line, scanner.tally)
        phase = .start
        position = 0
        emptyLines = 0
        return .head(consumed: consumed)
    }

    /// RFC 9112 2.2: at least one empty line before a request line is to be ignored.
    @inline(__always)
    private mutating func skipEmptyLines(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        while position < bytes.count, bytes[position] == 0x0d {
            guard position &+ 1 < bytes.count else { return false }
            guard bytes[position &+ 1] == 0x0a else { throw .bareCarriageReturn }
            emptyLines += 1
            if emptyLines > limits.emptyLines { throw .tooManyEmptyLines }
            position &+= 2
        }
        return position < bytes.count
    }

    @inline(__always)
    private mutating func readMethod(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        var at = position
        while at < bytes.count, ByteClass.table[Int(bytes[at])] & ByteClass.token != 0 { at &+= 1 }
        position = at
        let start = Int(line.methodRange.start)
        if at &- start > limits.startLine { throw .startLineTooLong }
        guard at < bytes.count else { return false }
        guard bytes[at] == 0x20, at > start else {
            throw bytes[at] == 0x0a ? .bareLineFeed : .malformedMethod
        }
        line.methodRange.end = UInt32(truncatingIfNeeded: at)
        line.method = Method(bytes[line.methodRange])
        position = at &+ 1
        line.targetRange.start = UInt32(truncatingIfNeeded: position)
        phase = .target
        return true
    }

    @inline(__always)
    private mutating func readTarget(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        let at = ByteScan.endOfTarget(bytes, from: position)
        position = at
        let lineStart = Int(line.methodRange.start)
        // The version takes nine more bytes with its space.
        if at &- lineStart > limits.startLine &- 9 { throw .startLineTooLong }
        guard at < bytes.count else { return false }
        guard bytes[at] == 0x20, at > Int(line.targetRange.start) else {
            throw bytes[at] == 0x0a ? .bareLineFeed : .malformedTarget
        }
        line.targetRange.end = UInt32(truncatingIfNeeded: at)
        position = at &+ 1
        phase = .version
        return true
    }

    @inline(__always)
    private mutating func readVersion(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Bool {
        guard let version = try VersionReader.read(bytes, at: position) else { return false }
        let end = position &+ VersionReader.length
        guard end < bytes.count else { return false }
        guard bytes[end] == 0x0d else {
            throw bytes[end] == 0x0a ? .bareLineFeed : .malformedVersion
        }
        guard end &+ 1 < bytes.count else { return false }
        guard bytes[end &+ 1] == 0x0a else { throw .bareCarriageReturn }
        line.version = version
        scanner = FieldScanner(at: end &+ 2)
        phase = .fields
        return true
    }
}

/// A request line as it was read, before the head it belongs to is complete.
struct RequestLine: BitwiseCopyable {
    var method = Method.get
    var version = HTTPVersion.http11
    var methodRange = ByteRange()
    var targetRange = ByteRange()
}
