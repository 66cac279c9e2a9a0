// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import HTTP
import Transport

/// What must hold for what stands in front of a message, and for the target in it.
package enum AddressProperties {
    /// A PROXY header is told when its last byte has come, no earlier, and more bytes do not change it.
    package static func proxyHeader(_ bytes: [UInt8]) {
        let whole = reading(bytes)
        for end in 0..<min(bytes.count, 300) {
            let part = reading(Array(bytes[..<end]))
            require(part == "needMore" || part == whole, "a header changed when more came: \(part), \(whole)")
        }
    }

    private static func reading(_ bytes: [UInt8]) -> String {
        do throws(ProxyFailure) {
            switch try ProxyHeader.read(bytes.span) {
            case .needMore: return "needMore"
            case .absent: return "absent"
            case .header(let header, let length):
                require(length <= bytes.count && length <= ProxyHeader.longest, "a header beyond its bytes")
                return "\(header) \(length)"
            }
        } catch { return error.rawValue }
    }

    /// A path that passes `reject` has one form; what `normalise` makes is such a path, and stays as it is.
    package static func path(_ bytes: [UInt8]) {
        let path = [0x2f] + bytes.filter { $0 != 0x3f && $0 != 0x23 }
        let isPlain = form(of: path, by: .reject) != nil
        require(form(of: path, by: .raw) == path, "raw changed a path")
        guard let normal = form(of: path, by: .normalise) else {
            return require(!isPlain, "a path that is plain has no normal form")
        }
        require(form(of: normal, by: .normalise) == normal, "a normal form has another normal form")
        require(form(of: normal, by: .reject) == normal, "a normal form is not plain")
        require(normal.first == 0x2f, "a normal form does not begin at the root")
        // What would end the request line ends the question too: the rest is another head.
        guard !path.contains(where: { $0 <= 0x20 }) else { return }
        let request = Array("GET ".utf8) + path + Array("?x HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var parser = RequestParser()
        var head = RequestHead()
        guard case .head = try? parser.parse(request.span, into: &head) else { return }
        require(head.path.array == path, "the path of a target is not the one that was sent")
        require(head.query?.array == [0x78], "the query of a target is not the one that was sent")
    }

    private static func form(of path: [UInt8], by policy: PathPolicy) -> [UInt8]? {
        var form = ByteBuffer()
        do throws(PathProblem) {
            try policy.apply(to: path.span, into: &form)
            return form.bytes.array
        } catch { return nil }
    }
}
