// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Testing

@testable import Gateway

@Suite struct DescriptorsTests {
    /// The size of the kernel's table, as it tells of it.
    private func tableSize() throws -> Int {
        guard let file = unsafe fopen("/proc/self/status", "r") else { return 0 }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while unsafe fgets(&line, 512, file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split {
                $0.isWhitespace
            }
            if words.first == "FDSize:", words.count > 1 { return try #require(Int(words[1])) }
        }
        return 0
    }

    @Test func `a reserved table of descriptors holds as many, and none is left open`() throws {
        Descriptors.reserve(900)
        #expect(try tableSize() >= 900)
        #expect(fcntl(899, F_GETFD) == -1)
    }

    @Test func `a number beyond every limit changes nothing that hurts`() throws {
        Descriptors.reserve(0)
        Descriptors.reserve(-1)
        #expect(try tableSize() > 0)
    }
}
