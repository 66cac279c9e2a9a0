// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Telemetry

@Suite struct LogSinkTests {
    private func line(_ length: Int) -> [UInt8] { [UInt8](repeating: 0x61, count: length - 1) + [0x0A] }

    @Test func `a pipe gets whole lines, and never more than it takes in one piece`() {
        #expect(LogSink.wholeLines((line(4_096)).span) == 4_096)
        #expect(LogSink.wholeLines((line(100) + line(4_000)).span) == 100)
        #expect(LogSink.wholeLines((line(4_096) + line(10)).span) == 4_096)
        // One line that is longer, with a backlog behind it.
        #expect(LogSink.wholeLines((line(4_097) + line(100_000)).span) == 4_096)
    }
}
