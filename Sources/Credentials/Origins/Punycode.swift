// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The encoder of RFC 3492 for one label.
enum Punycode {
    private static let base: UInt32 = 36
    private static let minimum: UInt32 = 1
    private static let maximum: UInt32 = 26

    /// The encoded label without `xn--`; nil when it overflows or is absurdly long.
    static func encode(_ label: Substring) -> String? {
        let input = label.unicodeScalars.map(\.value)
        guard input.count <= 63 else { return nil }
        var output: [UInt8] = input.filter { $0 < 0x80 }.map { UInt8(truncatingIfNeeded: $0) }
        let basic = UInt32(output.count)
        var handled = basic
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var next: UInt32 = 0x80
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        while handled < UInt32(input.count) {
            guard let smallest = input.filter({ $0 >= next }).min() else { return nil }
            let (step, overflow) = (smallest - next).multipliedReportingOverflow(by: handled + 1)
            guard !overflow, delta <= .max - step else { return nil }
            delta += step
            next = smallest
            for value in input {
                if value < next { delta += 1 }
                if value == next {
                    append(delta, bias: bias, to: &output)
                    bias = adapt(delta, points: handled + 1, isFirst: handled == basic)
                    delta = 0
                    handled += 1
                }
            }
            delta += 1
            next += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func append(_ delta: UInt32, bias: UInt32, to output: inout [UInt8]) {
        var rest = delta
        var position = base
        while true {
            let threshold = position <= bias ? minimum : min(position - bias, maximum)
            if rest < threshold { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            position += base
        }
        output.append(digit(rest))
    }

    private static func adapt(_ delta: UInt32, points: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / points
        var result: UInt32 = 0
        while delta > (base - minimum) * maximum / 2 {
            delta /= base - minimum
            result += base
        }
        return result + (base - minimum + 1) * delta / (delta + 38)
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? value + 97 : value - 26 + 48)
    }
}
