// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import FuzzProperties
import Glibc

/// The time that each target takes for its slowest input: every file of a corpus, and hostile inputs of 64 KiB.
@main
enum InputTiming {
    /// No input may take longer, in milliseconds.
    static let limit = 20.0

    static func main() {
        let corpus = CommandLine.arguments.dropFirst().first ?? ".build/fuzz-corpus"
        var isWithin = true
        print("| target | inputs | slowest, ms | which |")
        print("|-|-|-|-|")
        for target in FuzzTargets.all {
            // The first call reads the target's facts.
            target.body([])
            var slowest = (0.0, "")
            var count = 0
            func take(_ name: String, _ bytes: [UInt8]) {
                count += 1
                let time = (0..<3).map { _ in milliseconds { target.body(bytes) } }.min() ?? 0
                if time > slowest.0 { slowest = (time, name) }
            }
            for (name, bytes) in files("\(corpus)/\(target.name)") { take(name, bytes) }
            for (name, bytes) in hostile { take(name, bytes) }
            print("| \(target.name) | \(count) | \((slowest.0 * 100).rounded() / 100) | \(slowest.1) |")
            if slowest.0 > limit { isWithin = false }
        }
        if !isWithin { exit(1) }
    }

    static func milliseconds(_ body: () -> Void) -> Double {
        var start = timespec()
        var end = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start)
        body()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end)
        return Double(end.tv_sec - start.tv_sec) * 1_000 + Double(end.tv_nsec - start.tv_nsec) / 1_000_000
    }

    /// Inputs of 64 KiB that make a careless reader work hard.
    static let hostile: [(String, [UInt8])] = {
        let size = 65_536
        func filled(_ pattern: [UInt8]) -> [UInt8] {
            Array((0..<(size / pattern.count + 1)).flatMap { _ in pattern }.prefix(size))
        }
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        let names = (0..<5_000).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
        return [
            ("zeros", filled([0])), ("ones", filled([255])), ("nested CBOR arrays", filled([0x81])),
            ("nested CBOR maps", filled([0xA1, 0x00])), ("wide CBOR map", [0xB9, 0x7F, 0xFF] + filled([0x00, 0x01])),
            (
                "many CBOR keys",
                [0xB9, 0x03, 0xFF] + (0..<1_023).flatMap { [0x19, UInt8($0 >> 8) | 1, UInt8($0 & 255), 0] }
            ),
            ("nested sequences", filled([0x30, 0x82, 0xFF, 0xFF])), ("empty sequences", filled([0x30, 0x00])),
            ("one long sequence", [0x30, 0x82, 0xFF, 0xFC] + filled([0x05, 0x00])),
            ("many numbers", [0x30, 0x82, 0xFF, 0xFC] + filled([0x02, 0x01, 0x01])),
            ("nested JSON arrays", filled(text("["))), ("nested JSON objects", filled(text("{\"a\":"))),
            ("many JSON names", text("{\(names)}")),
            ("long JSON string", text("\"") + filled(text("\\u0041")) + text("\"")),
            ("many JSON numbers", text("[") + filled(text("1,"))), ("long JSON number", filled(text("9"))),
            ("base64", filled(text("QUJD"))), ("dots", filled(text("."))),
            ("five parts", text("e30.") + filled(text("QUJD")) + text(".QUJD.QUJD.QUJD")),
            ("PEM lines", text("-----BEGIN A-----\n") + filled(text("QUJD\n")) + text("-----END A-----\n")),
        ]
    }()

    static func files(_ folder: String) -> [(String, [UInt8])] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var files: [(String, [UInt8])] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let file = unsafe fopen("\(folder)/\(name)", "re") else { continue }
            defer { unsafe fclose(file) }
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = unsafe fread(&bytes, 1, bytes.count, file)
            files.append((name, Array(bytes.prefix(count))))
        }
        return files
    }
}
