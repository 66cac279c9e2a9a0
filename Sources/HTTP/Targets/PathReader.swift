// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

/// Reads a path the way the most credulous back end might.
enum PathReader {
    /// One byte of a path, an escape read as what it stands for.
    private struct Unit {
        var byte: UInt8
        var isEscaped: Bool
        var length: Int
    }

    /// Whether the path has nothing to normalise and nothing to refuse: the common case, one pass.
    static func isNormal(_ path: Span<UInt8>) -> Bool {
        for index in path.indices {
            let byte = path[index]
            if byte == 0x25 || byte == 0x3b || byte == 0x5c { return false }
            guard index > 0, path[index - 1] == 0x2f else { continue }
            if byte == 0x2e || byte == 0x2f { return false }
        }
        return true
    }

    /// The first thing in `path` that two readers could understand differently.
    static func firstProblem(in path: Span<UInt8>) -> PathProblem? {
        if path.count == 1, path[0] == 0x2a { return nil }
        var segment: [UInt8] = []
        var hasParameter = false
        var at = 0
        while true {
            let isEnd = at == path.count
            if isEnd || path[at] == 0x2f {
                if let problem = problem(inSegment: segment.span, hasParameter) { return problem }
                if isEnd { return nil }
                if at > 0, segment.isEmpty { return .emptySegment }
                segment.removeAll(keepingCapacity: true)
                hasParameter = false
                at += 1
                continue
            }
            do {
                let unit = try unit(path, at: at)
                segment.append(unit.byte)
                hasParameter = hasParameter || unit.byte == 0x3b && !unit.isEscaped
                at += unit.length
            } catch {
                return error
            }
        }
    }

    /// The one form of `path`.
    static func normalised(_ path: Span<UInt8>) throws(PathProblem) -> [UInt8] {
        if path.count == 1, path[0] == 0x2a { return [0x2a] }
        var form: [UInt8] = []
        // Where each kept segment begins, its slash included.
        var starts: [Int] = []
        var at = 0
        while at < path.count {
            // `path[at]` is a slash here.
            at += 1
            let start = form.count
            form.append(0x2f)
            var decoded: [UInt8] = []
            var hasParameter = false
            while at < path.count, path[at] != 0x2f {
                let unit = try unit(path, at: at)
                append(unit, to: &form)
                decoded.append(unit.byte)
                hasParameter = hasParameter || unit.byte == 0x3b && !unit.isEscaped
                at += unit.length
            }
            let isLast = at == path.count
            switch problem(inSegment: decoded.span, hasParameter) {
            case .dotSegment where decoded.count == 2:
                guard let previous = starts.popLast() else { throw .aboveRoot }
                form.removeSubrange(previous...)
                if isLast { form.append(0x2f) }
            case .dotSegment:
                form.removeSubrange(start...)
                if isLast { form.append(0x2f) }
            case .some(let problem):
                throw problem
            case nil where decoded.isEmpty && !isLast:
                form.removeSubrange(start...)
            case nil:
                starts.append(start)
            }
        }
        return form
    }

    /// A parameter is told by the semicolon itself: one that is escaped is part of the name for every reader.
    private static func problem(inSegment segment: Span<UInt8>, _ hasParameter: Bool) -> PathProblem? {
        var dots = 0
        while dots < segment.count, segment[dots] == 0x2e { dots += 1 }
        if dots == 1 || dots == 2 {
            if dots == segment.count { return .dotSegment }
            if segment[dots] == 0x3b { return .dotSegmentParameter }
        }
        return hasParameter ? .parameter : nil
    }

    private static func unit(_ path: Span<UInt8>, at index: Int) throws(PathProblem) -> Unit {
        let byte = path[index]
        if byte == 0x5c { throw .backslash }
        guard byte == 0x25 else { return Unit(byte: byte, isEscaped: false, length: 1) }
        guard index + 2 < path.count, let high = Hex.value(of: path[index + 1]),
            let low = Hex.value(of: path[index + 2])
        else { throw .malformedEscape }
        let value = high << 4 | low
        switch value {
        case 0x2f: throw .encodedSlash
        case 0x5c: throw .backslash
        case 0..<0x20, 0x7f: throw .controlByte
        default: return Unit(byte: value, isEscaped: true, length: 3)
        }
    }

    /// RFC 3986 6.2.2: unreserved characters stand for themselves, the digits of other escapes are upper case.
    private static func append(_ unit: Unit, to form: inout [UInt8]) {
        guard unit.isEscaped, !unit.byte.isUnreserved else {
            form.append(unit.byte)
            return
        }
        form.append(0x25)
        form.append(Hex.upperDigit(of: unit.byte >> 4))
        form.append(Hex.upperDigit(of: unit.byte & 15))
    }
}
