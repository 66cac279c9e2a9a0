// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP

/// What one connection's bytes amount to, however they were cut: the messages in order, then how reading stopped.
struct Transcript: Equatable, CustomStringConvertible {
    struct Message: Equatable {
        var start: String
        var authority: String
        var framing: MessageFraming
        var fields: [String]
        var body: [UInt8] = []
        var trailers: [String] = []
        var isComplete = false
        var keepsAlive: Bool
    }

    var messages: [Message] = []
    var violation: HTTPViolation?

    var description: String {
        "\(messages.map { "\($0.start) \($0.framing) \($0.body.count) \($0.isComplete)" }) \(violation.map(\.rawValue) ?? "-")"
    }

    /// Reads requests; `cuts` are the sizes of the pieces the bytes arrive in, the last one repeated.
    init(requests bytes: [UInt8], cuts: [Int] = [Int.max], limits: ParserLimits = ParserLimits()) {
        var reader = Reader(limits: limits)
        feed(bytes, cuts) { (buffer) throws(HTTPViolation) in try reader.readRequests(&buffer) }
        messages = reader.messages
    }

    /// Reads answers to requests of `method`.
    init(responses bytes: [UInt8], to method: HTTP.Method = .get, cuts: [Int] = [Int.max]) {
        var reader = Reader(limits: ParserLimits())
        feed(bytes, cuts) { (buffer) throws(HTTPViolation) in try reader.readResponses(&buffer, method) }
        messages = reader.messages
    }

    private mutating func feed(
        _ bytes: [UInt8],
        _ cuts: [Int],
        _ read: (inout ByteBuffer) throws(HTTPViolation) -> Void
    ) {
        var buffer = ByteBuffer()
        var at = 0
        var cut = 0
        while at < bytes.count {
            let length = min(max(cuts[min(cut, cuts.count - 1)], 1), bytes.count - at)
            buffer.append(bytes.span.extracting(at..<at + length))
            at += length
            cut += 1
            do {
                try read(&buffer)
            } catch {
                violation = error
                return
            }
        }
    }
}

/// Reads a connection the way the gateway does, keeping everything.
private struct Reader: ~Copyable {
    var messages: [Transcript.Message] = []
    private var requestParser: RequestParser
    private var responseParser: ResponseParser
    private var request = RequestHead()
    private var response = ResponseHead()
    private var decoder: ChunkedDecoder
    private var framing = MessageFraming.none
    private var remaining: UInt64 = 0
    private var isInBody = false
    private var isClosed = false

    init(limits: ParserLimits) {
        requestParser = RequestParser(limits: limits)
        responseParser = ResponseParser(limits: limits)
        decoder = ChunkedDecoder(limits: limits)
    }

    mutating func readRequests(_ buffer: inout ByteBuffer) throws(HTTPViolation) {
        while !isClosed {
            if isInBody {
                guard try readBody(&buffer) else { return }
                continue
            }
            guard case .head(let consumed) = try requestParser.parse(buffer.bytes, into: &request) else { return }
            buffer.consume(consumed)
            messages.append(
                Transcript.Message(
                    start: "\(request.methodBytes.lossyText) \(request.target.lossyText) \(request.version)",
                    authority: request.authority.lossyText,
                    framing: request.framing,
                    fields: lines(request.fields),
                    keepsAlive: request.keepsAlive
                )
            )
            begin(request.framing)
        }
    }

    mutating func readResponses(_ buffer: inout ByteBuffer, _ method: HTTP.Method) throws(HTTPViolation) {
        while !isClosed {
            if isInBody {
                guard try readBody(&buffer) else { return }
                continue
            }
            let progress = try responseParser.parse(buffer.bytes, into: &response, answering: method)
            guard case .head(let consumed) = progress else { return }
            buffer.consume(consumed)
            messages.append(
                Transcript.Message(
                    start: "\(response.status) \(response.reason.lossyText) \(response.version)",
                    authority: "",
                    framing: response.framing,
                    fields: lines(response.fields),
                    keepsAlive: response.keepsAlive
                )
            )
            begin(response.framing)
        }
    }

    private mutating func begin(_ framing: MessageFraming) {
        self.framing = framing
        isInBody = true
        if case .length(let length) = framing { remaining = length }
        if framing == .none { remaining = 0 }
        if framing == .chunked { decoder.reset() }
    }

    /// True once the body is over.
    private mutating func readBody(_ buffer: inout ByteBuffer) throws(HTTPViolation) -> Bool {
        switch framing {
        case .none, .length:
            let length = Int(min(remaining, UInt64(buffer.count)))
            keep(buffer.bytes.extracting(0..<length))
            buffer.consume(length)
            remaining -= UInt64(length)
            guard remaining == 0 else { return false }
        case .untilClose:
            keep(buffer.bytes)
            buffer.removeAll()
            return false
        case .chunked:
            while true {
                let part = try decoder.next(buffer.bytes)
                switch part {
                case .data(let range, let consumed):
                    keep(buffer.bytes.extracting(range))
                    buffer.consume(consumed)
                    continue
                case .needMore(let consumed):
                    buffer.consume(consumed)
                    return false
                case .end(let consumed):
                    buffer.consume(consumed)
                    messages[messages.count - 1].trailers = lines(decoder.trailers)
                }
                break
            }
        }
        messages[messages.count - 1].isComplete = true
        isInBody = false
        isClosed = !messages[messages.count - 1].keepsAlive
        return true
    }

    private mutating func keep(_ bytes: Span<UInt8>) {
        for index in bytes.indices { messages[messages.count - 1].body.append(bytes[index]) }
    }
}

/// The fields as `name: value`, with a mark before those not to be forwarded.
func lines(_ fields: borrowing FieldTable) -> [String] {
    var lines: [String] = []
    for index in 0..<fields.count {
        let mark = fields.isDropped(at: index) ? "-" : ""
        lines.append("\(mark)\(fields.name(at: index).lossyText): \(fields.value(at: index).lossyText)")
    }
    return lines
}

/// Bytes of a text whose characters are all below U+0100, one byte each.
func latin1(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

/// A seeded generator, so that a failure can be run again.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
