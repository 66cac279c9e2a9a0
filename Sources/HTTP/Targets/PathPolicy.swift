// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers

/// How a route treats a path that two readers could understand differently.
package enum PathPolicy: String, Sendable, CaseIterable {
    /// The path is judged and forwarded as it came.
    case raw
    /// Every path that `PathProblem` names is refused; what passes is forwarded as it came.
    case reject
    /// The path is brought to one form (RFC 3986 6.2.2, empty segments dropped), and that form is judged and forwarded.
    /// What has no form that all readers share (encoded slashes, backslashes, NUL, `;x`) is refused.
    case normalise
}

/// Why a path policy refuses a path; the raw value is the stable word.
package enum PathProblem: String, Error, Sendable, CaseIterable {
    /// `.` or `..`, encoded or not.
    case dotSegment = "path_dot_segment"
    /// `//`.
    case emptySegment = "path_empty_segment"
    /// `%2F`, which some readers take for a slash.
    case encodedSlash = "path_encoded_slash"
    /// A backslash, encoded or not, which some readers take for a slash.
    case backslash = "path_backslash"
    /// An encoded control character; NUL ends the path for some readers.
    case controlByte = "path_control_byte"
    /// `%` without two hexadecimal digits.
    case malformedEscape = "path_malformed_escape"
    /// `..` with nothing left to go up from.
    case aboveRoot = "path_above_root"
    /// `..;x`, a dot segment for readers that cut path parameters off.
    case dotSegmentParameter = "path_dot_segment_parameter"
    /// `;x`: some readers cut it off, so that `/admin;x` is `/admin` for them and another route for us.
    case parameter = "path_parameter"
}

extension PathPolicy {
    /// Whether `path` has one form only, so that no policy has anything to do: the common case, one pass.
    package static func isPlain(_ path: Span<UInt8>) -> Bool {
        PathReader.isNormal(path)
    }

    /// Judges `path`, which begins with `/` or is `*` and has no query, and appends the form to match and forward.
    package func apply(to path: Span<UInt8>, into form: inout ByteBuffer) throws(PathProblem) {
        switch self {
        case .raw:
            form.append(path)
        case .reject:
            if !PathReader.isNormal(path), let problem = PathReader.firstProblem(in: path) { throw problem }
            form.append(path)
        case .normalise:
            if PathReader.isNormal(path) {
                form.append(path)
            } else {
                form.append(contentsOf: try PathReader.normalised(path))
            }
        }
    }
}
