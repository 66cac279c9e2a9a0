// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Transport

/// The request that another proxy asks about at `/gateway/check` (dialects.md E.3).
///
/// nginx and Traefik describe it in `X-Forwarded-Method`, `-Host` and `-Uri`; Envoy asks with its method and host and,
/// behind the prefix, its path. Its other fields come as they were.
enum DescribedRequest {
    static let path = "/gateway/check"

    /// Fields that describe, or speak of the asking connection and its body.
    fileprivate static let skipped = KnownFieldSet.hopByHop.union([
        .host, .contentLength, .expect, .xForwardedHost, .gatewayPrefixed, .alias,
    ])
}

extension RequestHead {
    /// Whether it asks about another request.
    var asksForCheck: Bool {
        let path = path
        guard path.starts(DescribedRequest.path) else { return false }
        let end = DescribedRequest.path.utf8.count
        return path.count == end || path[end] == UInt8(ascii: "/")
    }

    /// Whether the asking request is the described one, behind the prefix: fields of its client describe nothing then.
    var describesByPath: Bool {
        let target = target
        let end = DescribedRequest.path.utf8.count
        return target.count > end && target[end] == UInt8(ascii: "/")
    }

    /// Writes the described request as its client would have sent it; false when nothing says which
    /// it was, or two things do.
    func appendDescribed(to buffer: inout ByteBuffer) -> Bool {
        let target = target
        let isByPath = describesByPath
        if isByPath {
            buffer.append(methodBytes)
            buffer.append(" ")
            buffer.append(target.extracting(DescribedRequest.path.utf8.count..<target.count))
        } else {
            guard let uri = only("x-forwarded-uri"), let method = only("x-forwarded-method") else { return false }
            buffer.append(fields.value(at: method))
            buffer.append(" ")
            buffer.append(fields.value(at: uri))
        }
        buffer.append(" HTTP/1.1\r\nHost: ")
        if !isByPath, let host = only("x-forwarded-host") {
            buffer.append(fields.value(at: host))
        } else {
            buffer.append(authority)
        }
        buffer.append("\r\n")
        appendFields(to: &buffer)
        return true
    }

    private func appendFields(to buffer: inout ByteBuffer) {
        for index in 0..<fields.count {
            let name = fields.name(at: index)
            guard !DescribedRequest.skipped.contains(fields.field(at: index)), !name.describes else { continue }
            buffer.append(name)
            buffer.append(": ")
            buffer.append(fields.value(at: index))
            buffer.append("\r\n")
        }
        buffer.append("\r\n")
    }

    /// The place of a field that came once.
    private func only(_ name: String) -> Int? {
        let name = name.utf8.span
        guard let index = fields.firstIndex(named: name, from: 0),
            fields.firstIndex(named: name, from: index + 1) == nil
        else { return nil }
        return index
    }
}

extension Span<UInt8> {
    /// Whether it names a field that describes the request, in any case.
    fileprivate var describes: Bool {
        switch count {
        case 15: isCaseInsensitively("x-forwarded-uri")
        case 18: isCaseInsensitively("x-forwarded-method")
        default: false
        }
    }

    private func isCaseInsensitively(_ lower: String) -> Bool {
        let other = lower.utf8.span
        guard count == other.count else { return false }
        for index in indices {
            let byte = self[index]
            guard (65...90 ~= byte ? byte | 0x20 : byte) == other[index] else { return false }
        }
        return true
    }
}
