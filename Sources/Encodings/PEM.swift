// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Why a text holds no readable PEM block.
package enum PEMError: Error, Equatable {
    /// A BEGIN line without its END line, or an END line of another label.
    case unterminated
    /// What stands between the lines is not base64.
    case malformedBody
}

/// One `-----BEGIN label-----` block of RFC 7468 and the bytes within.
package struct PEMBlock: Equatable, Sendable {
    /// What the block says it holds, such as `CERTIFICATE`.
    package let label: String
    /// The decoded bytes.
    package let bytes: [UInt8]

    /// A block of `bytes` labelled `label`.
    package init(label: String, bytes: [UInt8]) {
        self.label = label
        self.bytes = bytes
    }

    /// The block as text: lines of 64 characters, newline at the end.
    package var text: String {
        let body = Array(Base64.encode(bytes).utf8)
        var lines = "-----BEGIN \(label)-----\n"
        for start in stride(from: 0, to: body.count, by: 64) {
            lines += String(decoding: body[start..<min(start + 64, body.count)], as: UTF8.self) + "\n"
        }
        return lines + "-----END \(label)-----\n"
    }
}

/// Reads the PEM blocks of a file; text outside of blocks is a comment, as in what other tools print.
package enum PEM {
    /// Every block of `text`, in order.
    package static func blocks(in text: String) throws(PEMError) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var label: String?
        var body: [UInt8] = []
        for line in text.utf8.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            if let open = label {
                if let closed = boundary("-----END ", line) {
                    guard closed == open else { throw .unterminated }
                    blocks.append(PEMBlock(label: open, bytes: try decode(body)))
                    label = nil
                } else {
                    body.append(contentsOf: line.filter { $0 != 32 && $0 != 9 })
                }
            } else if let opened = boundary("-----BEGIN ", line) {
                label = opened
                body.removeAll(keepingCapacity: true)
            }
        }
        guard label == nil else { throw .unterminated }
        return blocks
    }

    private static func decode(_ body: [UInt8]) throws(PEMError) -> [UInt8] {
        do {
            return try Base64.decode(body.span)
        } catch {
            throw .malformedBody
        }
    }

    private static func boundary(_ prefix: String, _ line: Substring.UTF8View) -> String? {
        var text = String(decoding: line, as: UTF8.self)
        while text.last == " " || text.last == "\t" { text.removeLast() }
        guard text.hasPrefix(prefix), text.hasSuffix("-----"), text.utf8.count > prefix.utf8.count + 5 else {
            return nil
        }
        return String(text.dropFirst(prefix.count).dropLast(5))
    }
}
