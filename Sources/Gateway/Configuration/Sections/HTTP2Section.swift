// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

/// The keys of `http2`.
enum HTTP2Section {
    static let streams = Setting(
        "streams",
        .integer(1...1_000),
        .standard(HTTP2Settings().concurrentStreams),
        "Streams a client may have open at once; RFC 9113 recommends 100 at least."
    )
    static let streamWindow = Setting(
        "stream_window",
        .byteCount(.kibibytes(64)...(.mebibytes(16))),
        .standard(ByteCount(bytes: HTTP2Settings().streamWindow)),
        "Bytes of one stream's body that may be on their way to us."
    )
    static let connectionWindow = Setting(
        "connection_window",
        .byteCount(.kibibytes(64)...(.mebibytes(256))),
        .standard(ByteCount(bytes: HTTP2Settings().connectionWindow)),
        "Of all streams of a connection together: what it can make us buffer."
    )
    static let continuations = Setting(
        "continuations",
        .integer(0...1_000),
        .standard(HTTP2Settings().continuations),
        "CONTINUATION frames of one header block; honest ones need none or one."
    )
    static let ping = Setting(
        "ping",
        .duration(.seconds(1)...(.seconds(3_600))),
        .standard(.seconds(30)),
        "A client with open streams that is silent this long gets a PING; as long again without a word, and it is cut off."
    )
    static let resets = budget(
        "resets",
        \.resets,
        "Streams that a client opened and reset: leaving a page resets all of its own."
    )
    static let provokedResets = budget("provoked_resets", \.provokedResets, "Streams that a client made us reset.")
    static let settings = budget("settings", \.settings, "SETTINGS frames.")
    static let pings = budget("pings", \.pings, "PING frames; gRPC measures with them.")
    static let windowUpdates = budget("window_updates", \.windowUpdates, "WINDOW_UPDATE frames.")
    static let tinyWindows = budget(
        "tiny_windows",
        \.tinyWindows,
        "DATA frames of ours that the client's windows cut below 256 bytes."
    )
    static let emptyFrames = budget(
        "empty_frames",
        \.emptyFrames,
        "DATA, HEADERS and CONTINUATION frames without content."
    )
    static let otherFrames = budget("other_frames", \.otherFrames, "PRIORITY frames and those of unknown types.")
    static let largeHeaders = budget("large_headers", \.largeHeaders, "Header blocks larger than `http.head`.")

    static let schema = SectionSchema(
        "http2",
        [
            streams.row, streamWindow.row, connectionWindow.row, continuations.row, ping.row, resets.row,
            provokedResets.row,
            settings.row, pings.row, windowUpdates.row, tinyWindows.row, emptyFrames.row, otherFrames.row,
            largeHeaders.row,
        ]
    )

    private static func budget(
        _ name: String,
        _ standard: KeyPath<HTTP2Budgets, FloodBudget>,
        _ note: String
    ) -> Setting<FloodBudget> {
        Setting(name, .budget, .standard(HTTP2Budgets()[keyPath: standard]), note)
    }

    /// The limits of heads are those of `http`; they are filled in where a session is made.
    static let kind = ValueKind<HTTP2Settings>.section(schema) { section in
        let streams = section.value(streams)
        let streamWindow = section.value(streamWindow)
        let connectionWindow = section.value(connectionWindow)
        let continuations = section.value(continuations)
        let ping = section.value(ping)
        guard let budgets = budgets(section), let streams, let streamWindow, let connectionWindow, let continuations,
            let ping
        else { return nil }
        if streamWindow > connectionWindow {
            section.report("stream_window is larger than connection_window, so it has no effect", at: "stream_window")
        }
        var value = HTTP2Settings()
        value.concurrentStreams = streams
        value.streamWindow = streamWindow.bytes
        value.connectionWindow = connectionWindow.bytes
        value.continuations = continuations
        value.ping = UInt64(clamping: ping.nanosecondsClamped)
        value.budgets = budgets
        return value
    }

    private static func budgets(_ section: SectionReader) -> HTTP2Budgets? {
        let pairs: [(WritableKeyPath<HTTP2Budgets, FloodBudget>, Setting<FloodBudget>)] = [
            (\.resets, resets), (\.provokedResets, provokedResets), (\.settings, settings), (\.pings, pings),
            (\.windowUpdates, windowUpdates), (\.tinyWindows, tinyWindows), (\.emptyFrames, emptyFrames),
            (\.otherFrames, otherFrames), (\.largeHeaders, largeHeaders),
        ]
        var budgets = HTTP2Budgets()
        var isWhole = true
        for (place, setting) in pairs {
            if let value = section.value(setting) { budgets[keyPath: place] = value } else { isWhole = false }
        }
        return isWhole ? budgets : nil
    }
}

extension ValueKind where Value == FloodBudget {
    /// `200 + 50/s`: so many at once, refilled so often.
    static let budget = ValueKind(
        "budget",
        "how many at once and how many more a second, such as 200 + 50/s",
        parse: { text in
            let parts = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String($0.withoutSurroundingSpaces) }
            guard parts.count == 2, parts[1].hasSuffix("/s"), let burst = number(parts[0]),
                let perSecond = number(String(parts[1].dropLast(2)))
            else { return nil }
            return FloodBudget(burst: burst, perSecond: perSecond)
        },
        write: { "\($0.burst) + \($0.perSecond)/s" }
    )

    private static func number(_ text: String) -> Int? {
        guard (1...7).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit), let number = Int(text),
            number > 0
        else { return nil }
        return number
    }
}
