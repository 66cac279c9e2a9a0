// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Options of a verb, taken out one by one; what is left must be operands.
struct Options {
    private var rest: [String]
    private var isBroken = false

    init(_ arguments: [String]) {
        rest = arguments
    }

    /// Whether `name` is given.
    mutating func flag(_ name: String) -> Bool {
        guard let place = rest.firstIndex(of: name) else { return false }
        rest.remove(at: place)
        return true
    }

    /// The value that follows `name`, or nil if it is not given.
    mutating func value(_ name: String) -> String? {
        guard let place = rest.firstIndex(of: name) else { return nil }
        guard place + 1 < rest.count else {
            isBroken = true
            return nil
        }
        let value = rest[place + 1]
        rest.removeSubrange(place...(place + 1))
        return value
    }

    /// Every value of an option that may be given several times.
    mutating func values(_ name: String) -> [String] {
        var values: [String] = []
        while let value = value(name) { values.append(value) }
        return values
    }

    /// What is left, or nil if an option is left among it or a value was missing.
    func operands() -> [String]? {
        isBroken || rest.contains { $0.hasPrefix("--") } ? nil : rest
    }
}
