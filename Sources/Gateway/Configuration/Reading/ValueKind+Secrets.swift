// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings

extension ValueKind where Value == ConfiguredSecret {
    /// `${env:NAME}` or `${file:path}`; a secret written out is refused, and not repeated.
    static let secret = ValueKind(
        "secret",
        read: SecretReference.read,
        write: { $0.reference }
    )
}

/// Follows `${…}` to the secret.
private enum SecretReference {
    private static let expectation = "a secret is never written in the file: expected ${env:NAME} or ${file:path}"
    /// Longer than any key or password.
    private static let limit = 64 << 10

    static func read(_ reader: ValueReader) -> ConfiguredSecret? {
        guard case .scalar(let text, _) = reader.node.content, text.hasPrefix("${"), text.hasSuffix("}"),
            let colon = text.firstIndex(of: ":")
        else { return reader.refuseSilently(expectation) }
        let name = String(text[text.index(after: colon)...].dropLast())
        switch text[..<colon].dropFirst(2) {
        case "env":
            guard let value = reader.context.environment[name], !value.isEmpty else {
                return reader.refuseSilently("the environment variable \(name) is not set")
            }
            return ConfiguredSecret(reference: text, bytes: Array(value.utf8))
        case "file": return file(name, reference: text, reader)
        default: return reader.refuseSilently(expectation)
        }
    }

    private static func file(_ path: String, reference: String, _ reader: ValueReader) -> ConfiguredSecret? {
        switch Files.read(reader.context.absolute(path), limit: limit) {
        case .failure(let fault):
            // Long enough for any use, and two files stay two; nothing is started with it.
            let standIn = ConfiguredSecret(
                reference: reference,
                bytes: Array(path.utf8) + [UInt8](repeating: 0, count: 32)
            )
            let sentence = "cannot read \(path): \(fault.message)"
            return reader.refuse(fault, sentence, standIn: standIn, isSecret: true)
        case .success(var bytes):
            // Editors end files with a line end that is not part of the secret.
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
            if bytes.isEmpty { return reader.refuseSilently("\(path) is empty") }
            return ConfiguredSecret(reference: reference, bytes: bytes)
        }
    }
}
