// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Gateway

@Suite struct MemoryLevelTests {
    @Test(
        arguments: [
            (74, .calm), (75, .closesIdle), (84, .closesIdle), (85, .refusesConnections), (91, .refusesConnections),
            (92, .refusesRequests), (100, .refusesRequests), (300, .refusesRequests),
        ] as [(Int, MemoryGuard.Level)]
    )
    func `levels begin at hundredths of the budget`(hundredths: Int, level: MemoryGuard.Level) {
        #expect(MemoryGuard.Level.calm.next(at: hundredths << 20, of: 100 << 20) == level)
    }

    @Test(
        arguments: [
            (.closesIdle, 70, .closesIdle), (.closesIdle, 69, .calm), (.refusesConnections, 80, .refusesConnections),
            (.refusesConnections, 79, .closesIdle), (.refusesRequests, 87, .refusesRequests),
            (.refusesRequests, 86, .refusesConnections), (.refusesRequests, 10, .calm),
        ] as [(MemoryGuard.Level, Int, MemoryGuard.Level)]
    )
    func `a level is left five hundredths below its beginning`(
        from: MemoryGuard.Level,
        hundredths: Int,
        level: MemoryGuard.Level
    ) {
        #expect(from.next(at: hundredths << 20, of: 100 << 20) == level)
    }
}
