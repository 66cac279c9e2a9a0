// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The TLS of an upstream's https endpoints: one set-up for each protocol, since ALPN names what the connection is for.
@Reactor
struct UpstreamTLSContexts {
    /// For HTTP/1.1, WebSockets of HTTP/2 upstreams included.
    let single: TLSClientContext
    /// For HTTP/2; nil where the upstream is not spoken to in it.
    let streamed: TLSClientContext?
    /// What the file of `tls.ca` held; empty where there is none.
    let authorities: [UInt8]

    /// Sets up an upstream's TLS; nil where it has no https endpoint.
    init?(for upstream: UpstreamSettings, authorities: [UInt8]) throws(SnapshotProblem) {
        guard upstream.endpoints.contains(where: \.usesTLS) else { return nil }
        self.authorities = authorities
        let isStreamed = upstream.protocolSpoken == .h2
        single = try Self.context(for: upstream, authorities, protocols: isStreamed ? ["http/1.1"] : [])
        streamed = isStreamed ? try Self.context(for: upstream, authorities, protocols: ["h2"]) : nil
    }

    /// What the files of each upstream's `tls.ca` hold now, in the order of the upstreams; empty where none is used.
    ///
    /// Blocks for as long as the disk takes: while the loop serves, never on it.
    nonisolated static func authorities(of upstreams: [UpstreamSettings]) throws(SnapshotProblem) -> [[UInt8]] {
        var read: [String: [UInt8]] = [:]
        var authorities: [[UInt8]] = []
        for upstream in upstreams {
            guard upstream.tls.verifies, let path = upstream.tls.authorities,
                upstream.endpoints.contains(where: \.usesTLS)
            else {
                authorities.append([])
                continue
            }
            if read[path] == nil { read[path] = try PEMFile.read(path) }
            authorities.append(read[path] ?? [])
        }
        return authorities
    }

    private static func context(
        for upstream: UpstreamSettings,
        _ authorities: [UInt8],
        protocols: [String]
    ) throws(SnapshotProblem) -> TLSClientContext {
        var settings = TLSClientSettings()
        if !upstream.tls.verifies {
            settings.trust = .unverified
        } else if upstream.tls.authorities != nil {
            settings.trust = .authorities(pem: authorities)
        }
        settings.applicationProtocols = protocols
        do throws(TLSFailure) {
            return try TLSClientContext(settings)
        } catch {
            throw SnapshotProblem(message: "TLS of upstream \(upstream.name): \(error)")
        }
    }
}
