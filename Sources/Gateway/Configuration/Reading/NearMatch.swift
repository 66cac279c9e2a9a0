// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Finds the word that was probably meant.
enum NearMatch {
    /// The nearest candidate within two edits (one for short words); nil when none is near.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let word = Array(word.lowercased().utf8.prefix(64))
        let allowed = word.count <= 3 ? 1 : max(2, word.count / 4)
        var best: (distance: Int, candidate: String)?
        for candidate in candidates {
            let distance = distance(word, Array(candidate.lowercased().utf8.prefix(64)))
            if distance <= allowed, distance < best?.distance ?? .max { best = (distance, candidate) }
        }
        return best?.candidate
    }

    /// Edits (insert, delete, replace, swap neighbours) from one word to the other.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var older: [Int] = []
        var previous = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                var cost = min(
                    previous[column + 1] + 1,
                    current[column] + 1,
                    previous[column] + (left[row] == right[column] ? 0 : 1)
                )
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, older[column - 1] + 1)
                }
                current.append(cost)
            }
            older = previous
            previous = current
        }
        return previous[right.count]
    }
}
