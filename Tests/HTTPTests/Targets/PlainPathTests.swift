// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import HTTP

@Suite struct PlainPathTests {
    @Test func `a path that is called plain has no problem, whatever it is made of`() {
        let pieces = ["/", ".", "a", "%2e", "%", ";", "\\", "~", "//", "%2F", "%00"]
        var paths = ["/"]
        for _ in 0..<4 {
            paths = paths.flatMap { path in pieces.map { path + $0 } } + ["/"]
        }
        var plain = 0
        for path in paths {
            let bytes = Array(path.utf8)
            guard PathReader.isNormal(bytes.span) else { continue }
            plain += 1
            #expect(PathReader.firstProblem(in: bytes.span) == nil, "\(path)")
        }
        #expect(plain > 100)
    }
}
