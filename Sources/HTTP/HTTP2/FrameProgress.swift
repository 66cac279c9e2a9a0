// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Follows where frames begin and end, so that a peer that never finishes a header block can be told from a silent one.
struct FrameProgress: BitwiseCopyable {
    /// Bytes of the preface, or of the payload of the present frame, that are still to come.
    private var left: Int
    /// The bytes of the next frame's nine that have come, and what they say so far.
    private var headerCount = 0
    private var length = 0
    private var type: UInt8 = 0
    private var flags: UInt8 = 0
    private var stream: UInt32 = 0

    /// Whether a header block has begun and not ended: other frames may not come between.
    private(set) var isInsideBlock = false
    /// The stream of the DATA frame, or of HEADERS that do not open one, where the last step stopped: behind its first
    /// nine bytes.
    private(set) var continued: Int32?
    /// The highest stream that HEADERS were seen for.
    private var highest: Int32 = 0
    /// Whether a frame has come that can have ended a stream.
    private(set) var sawEnding = false

    /// CONTINUATION frames of the present header block.
    private var continuations = 0
    private let mostContinuations: Int

    /// What the frames that have begun cost, in parts of about a quarter of a microsecond.
    private var work = 0
    /// At this much work a step ends with the frame.
    private var workLimit = Int.max

    init(isServer: Bool, continuations: Int) {
        left = isServer ? 24 : 0
        mostContinuations = continuations
    }

    /// Whether the last step stopped behind the first nine bytes of one CONTINUATION too many.
    ///
    /// Counted here, because the library counts calls rather than frames: a header that comes in nine pieces is nine.
    var hasTooManyContinuations: Bool { continuations > mostContinuations }

    /// Frames of types that RFC 9113 does not know, which the library passes over in silence.
    var unknownFrames = 0

    /// Whether something has begun to come that is not complete.
    var isInsideFrame: Bool { left > 0 || headerCount > 0 || isInsideBlock }

    /// Whether a frame has ended at which no more should be looked at for now.
    var isTired: Bool { work >= workLimit && isBetweenFrames }

    private var isToStop: Bool { isTired || isEnding && isBetweenFrames }

    /// Whether a step ends with each frame: either side has said that the connection ends, and
    /// any frame may be the last.
    var isEnding = false

    /// Whether the last step ended with a frame.
    var isBetweenFrames: Bool { left == 0 && headerCount == 0 }

    /// New bytes are about to be looked at: what was complete before them has been done.
    mutating func begin(work limit: Int) {
        work = 0
        workLimit = limit
        if !isInsideFrame { sawEnding = false }
    }

    /// Goes on from `start` to the end, to the payload of a frame that continues a stream, or to the end of a frame
    /// where the work got too much or the connection ends; gives the place.
    mutating func advance(_ bytes: Span<UInt8>, from start: Int = 0) -> Int {
        var at = start
        continued = nil
        while at < bytes.count {
            if left > 0 {
                let step = min(left, bytes.count &- at)
                left &-= step
                at &+= step
                if left == 0 { frameEnded() }
                if isToStop { break }
                continue
            }
            take(bytes[at])
            at &+= 1
            if continued != nil || isToStop || hasTooManyContinuations { break }
        }
        return at
    }

    private mutating func take(_ byte: UInt8) {
        switch headerCount {
        case 0...2: length = length << 8 | Int(byte)
        case 3: type = byte
        case 4: flags = byte
        default: stream = stream << 8 | UInt32(byte)
        }
        headerCount &+= 1
        guard headerCount == 9 else { return }
        headerCount = 0
        left = length
        work &+= Self.work(of: type, length)
        length = 0
        let id = Int32(truncatingIfNeeded: stream & 0x7fff_ffff)
        switch type {
        case 0:
            continued = id
            if flags & 1 != 0 { sawEnding = true }
        case 1:
            isInsideBlock = true
            continuations = 0
            if id > highest { highest = id } else { continued = id }
            if flags & 1 != 0 { sawEnding = true }
        case 3: sawEnding = true
        case 7: isEnding = true
        case 9: continuations &+= 1
        case 10...: unknownFrames &+= 1
        default: break
        }
        if left == 0 { frameEnded() }
    }

    /// A request costs as much as 64 frames that are only counted, and its fields by their bytes.
    private static func work(of type: UInt8, _ length: Int) -> Int {
        switch type {
        case 0: 1 &+ length >> 12
        case 1: 64 &+ length >> 5
        case 3, 4: 16
        case 9: 4 &+ length >> 5
        default: 1
        }
    }

    private mutating func frameEnded() {
        // HEADERS and CONTINUATION: END_HEADERS ends the block.
        if type == 1 || type == 9, flags & 4 != 0 { isInsideBlock = false }
    }
}
