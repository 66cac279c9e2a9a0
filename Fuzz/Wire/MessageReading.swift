// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP

/// The messages of one connection as plain values, however its bytes were cut, and how reading stopped.
struct MessageReading: Equatable {
    struct Message: Equatable {
        var start: [UInt8]
        var authority: [UInt8]
        var framing: MessageFraming
        var fields: [[UInt8]]
        var body: [UInt8] = []
        var trailers: [[UInt8]] = []
        var isComplete = false
        var keepsAlive: Bool
    }

    private(set) var messages: [Message] = []
    private(set) var violation: HTTPViolation?

    init(requests bytes: [UInt8], pieces: [Range<Int>]) {
        var parser = RequestParser()
        var head = RequestHead()
        read(bytes, pieces) { (buffer, messages) throws(HTTPViolation) in
            guard case .head(let consumed) = try parser.parse(buffer.bytes, into: &head) else { return nil }
            buffer.consume(consumed)
            var start = head.methodBytes.array + [0x20] + head.target.array
            start += [0x20] + Array("\(head.version) \(head.targetForm) \(head.expectsContinue) \(head.upgrade)".utf8)
            messages.append(
                Message(
                    start: start,
                    authority: head.authority.array,
                    framing: head.framing,
                    fields: Self.lines(head.fields),
                    keepsAlive: head.keepsAlive
                )
            )
            return head.framing
        }
    }

    init(responses bytes: [UInt8], to method: HTTP.Method, pieces: [Range<Int>]) {
        var parser = ResponseParser()
        var head = ResponseHead()
        read(bytes, pieces) { (buffer, messages) throws(HTTPViolation) in
            guard case .head(let consumed) = try parser.parse(buffer.bytes, into: &head, answering: method) else {
                return nil
            }
            buffer.consume(consumed)
            messages.append(
                Message(
                    start: Array("\(head.status) \(head.version) ".utf8) + head.reason.array,
                    authority: [],
                    framing: head.framing,
                    fields: Self.lines(head.fields),
                    keepsAlive: head.keepsAlive
                )
            )
            return head.framing
        }
    }

    private mutating func read(
        _ bytes: [UInt8],
        _ pieces: [Range<Int>],
        _ head: (inout ByteBuffer, inout [Message]) throws(HTTPViolation) -> MessageFraming?
    ) {
        var buffer = ByteBuffer()
        var body: BodyReading?
        for piece in pieces {
            buffer.append(bytes.span.extracting(piece))
            do throws(HTTPViolation) {
                while true {
                    if messages.last?.isComplete == true, messages.last?.keepsAlive == false { return }
                    if let reading = body {
                        guard try reading.read(&buffer, into: &messages[messages.count - 1]) else { break }
                        body = nil
                        continue
                    }
                    guard let framing = try head(&buffer, &messages) else { break }
                    body = BodyReading(framing)
                }
            } catch {
                violation = error
                return
            }
        }
    }

    static func lines(_ fields: borrowing FieldTable) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for index in 0..<fields.count {
            let mark: [UInt8] = fields.isDropped(at: index) ? [0x2d] : []
            lines.append(mark + fields.name(at: index).array + [0x3a] + fields.value(at: index).array)
        }
        return lines
    }
}

/// Reads one body by its framing.
final class BodyReading {
    private let framing: MessageFraming
    private var remaining: UInt64 = 0
    private var decoder = ChunkedDecoder()

    init(_ framing: MessageFraming) {
        self.framing = framing
        if case .length(let length) = framing { remaining = length }
    }

    /// True once the body is over.
    func read(_ buffer: inout ByteBuffer, into message: inout MessageReading.Message) throws(HTTPViolation) -> Bool {
        switch framing {
        case .none: break
        case .length:
            let length = Int(min(remaining, UInt64(buffer.count)))
            message.body += buffer.bytes.extracting(0..<length).array
            buffer.consume(length)
            remaining -= UInt64(length)
            guard remaining == 0 else { return false }
        case .untilClose:
            message.body += buffer.bytes.array
            buffer.removeAll()
            return false
        case .chunked:
            guard try readChunks(&buffer, &message) else { return false }
        }
        message.isComplete = true
        return true
    }

    private func readChunks(
        _ buffer: inout ByteBuffer,
        _ message: inout MessageReading.Message
    ) throws(HTTPViolation) -> Bool {
        while true {
            switch try decoder.next(buffer.bytes) {
            case .data(let range, let consumed):
                require(range.upperBound <= buffer.count && consumed <= buffer.count, "a chunk beyond its bytes")
                message.body += buffer.bytes.extracting(range).array
                buffer.consume(consumed)
            case .needMore(let consumed):
                buffer.consume(consumed)
                return false
            case .end(let consumed):
                buffer.consume(consumed)
                message.trailers = MessageReading.lines(decoder.trailers)
                return true
            }
        }
    }
}

extension Span<UInt8> {
    /// The bytes as a value of their own.
    var array: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return bytes
    }
}
