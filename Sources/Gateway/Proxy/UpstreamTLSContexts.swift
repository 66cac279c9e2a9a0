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

    /// What the file of an upstream's `tls.ca` holds now; empty where none is used.
    static func authorities(of upstream: UpstreamSettings) throws(SnapshotProblem) -> [UInt8] {
        guard upstream.tls.verifies, let path = upstream.tls.authorities,
            upstream.endpoints.contains(where: \.usesTLS)
        else { return [] }
        return try PEMFile.read(path)
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
