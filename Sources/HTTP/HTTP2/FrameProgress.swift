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

    /// Whether a header block has begun and not ended: other frames may not come between.
    private(set) var isInsideBlock = false

    init(isServer: Bool) {
        left = isServer ? 24 : 0
    }

    /// Whether something has begun to come that is not complete.
    var isInsideFrame: Bool { left > 0 || headerCount > 0 || isInsideBlock }

    mutating func advance(_ bytes: Span<UInt8>) {
        var at = 0
        while at < bytes.count {
            if left > 0 {
                let step = min(left, bytes.count &- at)
                left &-= step
                at &+= step
                if left == 0 { frameEnded() }
                continue
            }
            take(bytes[at])
            at &+= 1
        }
    }

    private mutating func take(_ byte: UInt8) {
        switch headerCount {
        case 0...2: length = length << 8 | Int(byte)
        case 3: type = byte
        case 4: flags = byte
        default: break
        }
        headerCount &+= 1
        guard headerCount == 9 else { return }
        headerCount = 0
        left = length
        length = 0
        if type == 1 { isInsideBlock = true }
        if left == 0 { frameEnded() }
    }

    private mutating func frameEnded() {
        // HEADERS and CONTINUATION: END_HEADERS ends the block.
        if type == 1 || type == 9, flags & 4 != 0 { isInsideBlock = false }
    }
}
