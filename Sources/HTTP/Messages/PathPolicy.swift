// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// How a route treats a path that two readers could understand differently.
package enum PathPolicy: String, Sendable, CaseIterable {
    /// The path is judged and forwarded as it came.
    case raw
    /// Paths with dot segments, empty segments, encoded slashes, backslashes or NUL, or bad escapes are refused.
    case reject
    /// The path is brought to one form (RFC 3986 6.2.2), and that form is judged and forwarded.
    case normalise
}

/// Why a path policy refuses a path; the raw value is the stable word.
package enum PathProblem: String, Error, Sendable, CaseIterable {
    case dotSegment = "path_dot_segment"
    case emptySegment = "path_empty_segment"
    case encodedSeparator = "path_encoded_separator"
    case backslash = "path_backslash"
    case controlByte = "path_control_byte"
    case malformedEscape = "path_malformed_escape"
    case aboveRoot = "path_above_root"
    case pathParameter = "path_parameter_in_dot_segment"
}

extension PathPolicy {
    /// Judges `path` (without query) and appends the form to be matched and forwarded to `form`.
    package func apply(to path: Span<UInt8>, into form: inout ByteBuffer) throws(PathProblem) {
        form.append(path)
    }
}
