// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension [UInt8] {
    /// Appends the UTF-8 of `text`.
    mutating func append(utf8 text: String) {
        append(contentsOf: text.utf8)
    }

    /// Appends `value` in decimal.
    mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        // Divides by a constant only, which costs no division.
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var rest = value.magnitude
        var start = 20
        repeat {
            start &-= 1
            digits[start] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        for index in start..<20 { append(digits[index]) }
    }
}
