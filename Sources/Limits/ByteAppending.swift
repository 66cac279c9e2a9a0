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
        var divisor: UInt64 = 1
        while value.magnitude / divisor >= 10 { divisor *= 10 }
        var rest = value.magnitude
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }
}
