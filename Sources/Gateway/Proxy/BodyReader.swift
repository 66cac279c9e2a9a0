// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// Reads the body of one message after another by the framing its head decided.
@Reactor
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
    /// Made for the first chunked body: most connections never see one.
    private var chunks: ChunkedBody?
    /// Whether nothing of the body is owed any more.
    private(set) var isComplete = true

    init() {}

    /// Whether only the end of the connection ends the body.
    var endsWithConnection: Bool { mode == .untilClose && !isComplete }

    /// The trailer fields of a chunked body that is complete.
    var trailers: FieldTable {
        _read {
            let body = mode == .chunked ? chunks ?? ChunkedBody.none : ChunkedBody.none
            yield body.decoder.trailers
        }
    }

    /// Keeps trailer fields of these names from being forwarded: what a route sets or removes has no second way in.
    func dropTrailers(named names: [[UInt8]]) {
        guard mode == .chunked, let chunks else { return }
        for name in names { chunks.decoder.dropTrailers(named: name.span) }
    }

    /// Begins a body; `limits` are those of its chunks.
    mutating func begin(_ framing: MessageFraming, _ limits: @autoclosure () -> ParserLimits) {
        isComplete = !framing.hasBody
        switch framing {
        case .none: mode = .length
        case .length(let length):
            mode = .length
            remaining = length
        case .chunked:
            mode = .chunked
            if let chunks { chunks.decoder.reset() } else { chunks = ChunkedBody(limits: limits()) }
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
            guard let chunks else { throw .malformedChunkSize }
            switch try chunks.decoder.next(bytes) {
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

/// A chunked body's decoder, apart from the connection that owns it.
@Reactor
private final class ChunkedBody {
    var decoder: ChunkedDecoder

    /// Stands for a body without trailers.
    static let none = ChunkedBody(limits: ParserLimits())

    init(limits: ParserLimits) {
        decoder = ChunkedDecoder(limits: limits)
    }
}
