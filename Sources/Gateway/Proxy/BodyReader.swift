// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP

/// Reads the body of one message after another by the framing its head decided.
struct BodyReader: ~Copyable {
    private enum Mode {
        case length, chunked, untilClose
    }

    /// What the front of the offered bytes is.
    struct Step {
        /// Body bytes among the offered ones.
        var data: Range<Int>?
        /// How many bytes to take off the front afterwards.
        var consumed: Int
    }

    private var mode = Mode.length
    private var remaining: UInt64 = 0
    private var decoder: ChunkedDecoder
    /// Whether nothing of the body is owed any more.
    private(set) var isComplete = true

    init(limits: ParserLimits) {
        decoder = ChunkedDecoder(limits: limits)
    }

    /// Whether only the end of the connection ends the body.
    var endsWithConnection: Bool { mode == .untilClose && !isComplete }

    /// The trailer fields of a chunked body that is complete.
    var trailers: FieldTable {
        _read { yield decoder.trailers }
    }

    mutating func begin(_ framing: MessageFraming) {
        isComplete = !framing.hasBody
        decoder.reset()
        switch framing {
        case .none: mode = .length
        case .length(let length):
            mode = .length
            remaining = length
        case .chunked: mode = .chunked
        case .untilClose: mode = .untilClose
        }
    }

    /// Reads on; only while the body is not complete.
    mutating func next(_ bytes: Span<UInt8>) throws(HTTPViolation) -> Step {
        switch mode {
        case .length:
            let length = remaining > UInt64(bytes.count) ? bytes.count : Int(remaining)
            remaining -= UInt64(length)
            isComplete = remaining == 0
            return Step(data: 0..<length, consumed: length)
        case .untilClose:
            return Step(data: 0..<bytes.count, consumed: bytes.count)
        case .chunked:
            switch try decoder.next(bytes) {
            case .data(let range, let consumed):
                return Step(data: range, consumed: consumed)
            case .needMore(let consumed):
                return Step(data: nil, consumed: consumed)
            case .end(let consumed):
                isComplete = true
                return Step(data: nil, consumed: consumed)
            }
        }
    }
}
