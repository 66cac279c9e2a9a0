// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Encodings

/// Notices that certificate, key, key-set or authorities' files of the configuration changed, and
/// knows when certificates end.
struct CertificateWatch {
    private var versions: [String: FileVersion] = [:]

    /// Remembers the present files.
    init(_ configuration: Configuration) {
        for path in Self.paths(configuration) { versions[path] = Files.version(path) }
    }

    /// Watches the files of a new configuration: those known keep what was seen of them.
    mutating func follow(_ configuration: Configuration) {
        var followed: [String: FileVersion] = [:]
        for path in Self.paths(configuration) { followed[path] = versions[path] ?? Files.version(path) }
        versions = followed
    }

    /// Whether a file was written or replaced since the last look; remembers what it saw.
    ///
    /// A file that is missing for a moment is not a change: it is about to be replaced.
    mutating func hasChanged() -> Bool {
        var changed = false
        for (path, known) in versions {
            guard let present = Files.version(path), present != known else { continue }
            versions[path] = present
            changed = true
        }
        return changed
    }

    /// When each certificate ends, in seconds since 1970, by its file.
    static func ends(_ configuration: Configuration) -> [(path: String, seconds: Int64)] {
        lives(configuration).map { ($0.path, $0.notAfter) }
    }

    /// From when to when each certificate counts, in seconds since 1970, by its file.
    static func lives(_ configuration: Configuration) -> [(path: String, notBefore: Int64, notAfter: Int64)] {
        var lives: [(path: String, notBefore: Int64, notAfter: Int64)] = []
        for path in Set(pairs(configuration).map(\.certificate)).sorted() {
            guard case .success(let bytes) = Files.read(path), let life = life(of: bytes) else { continue }
            lives.append((path, life.notBefore, life.notAfter))
        }
        return lives
    }

    private static func life(of bytes: [UInt8]) -> (notBefore: Int64, notAfter: Int64)? {
        do {
            let blocks = try PEM.blocks(in: String(decoding: bytes, as: UTF8.self))
            guard let first = blocks.first(where: { $0.label == "CERTIFICATE" }),
                let validity = try Certificate(der: first.bytes).validity
            else { return nil }
            return (validity.notBefore, validity.notAfter)
        } catch {
            return nil
        }
    }

    private static func paths(_ configuration: Configuration) -> [String] {
        let sets = configuration.issuers.flatMap { issuer -> [String] in
            guard case .file(let path) = issuer.keys else { return [] }
            return [path]
        }
        // Those of issuers are read anew for each fetch.
        let authorities = configuration.upstreams.compactMap { $0.tls.verifies ? $0.tls.authorities : nil }
        return pairs(configuration).flatMap { [$0.certificate, $0.key] } + sets + authorities
    }

    private static func pairs(_ configuration: Configuration) -> [CertificateSettings] {
        (configuration.admin.tls?.certificates ?? [])
            + configuration.listeners.flatMap { listener -> [CertificateSettings] in
                guard case .tls(let tls) = listener.traffic else { return [] }
                return tls.certificates
            }
    }
}
