// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Foundation
import HTTP
import Testing

/// Prints what parsing costs; only in release builds does the figure mean anything.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SALLYPORT_BENCH"] != nil))
struct ParserCostTests {
    @Test
    func `a request with six fields`() throws {
        let request = latin1(
            "GET /v1/items/42?page=3 HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: wrk/4.1.0 (linux)\r\n"
                + "Accept: application/json\r\nOrigin: https://shop.example.com\r\n"
                + "X-Api-Key: sp_live_0123456789abcdefghijklmnop\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n"
        )
        var parser = RequestParser()
        var head = RequestHead()
        var best = Duration.seconds(1)
        for _ in 0..<5 {
            let spent = try ContinuousClock().measure {
                for _ in 0..<100_000 { _ = try parser.parse(request.span, into: &head) }
            }
            best = min(best, spent / 100_000)
        }
        print("request parser: \(best) for \(request.count) bytes")
        #expect(best < .microseconds(20))
    }
}
