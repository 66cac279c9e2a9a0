// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Store

@Suite struct ClockCorrectionTests {
    @Test(arguments: [
        (0, 0, false), (4_999, 0, false), (-4_999, 0, false), (5_000, 0, true), (-5_000, 0, true), (60_000, 0, true),
        (-60_000, 0, true), (60_001, 60_001, true), (-60_001, -60_001, true), (3_600_000, 3_600_000, true),
    ])
    func `a clock is corrected beyond a minute and worth a warning from five seconds`(
        difference: Int64,
        correction: Int64,
        warns: Bool
    ) {
        #expect(ClockCorrection.correction(of: difference) == correction)
        #expect(ClockCorrection.deservesWarning(difference) == warns)
    }
}
