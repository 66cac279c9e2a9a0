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

    /// Reads the files of an upstream's TLS; nil where it has no https endpoint.
    init?(for upstream: UpstreamSettings) throws(SnapshotProblem) {
        guard upstream.endpoints.contains(where: \.usesTLS) else { return nil }
        let isStreamed = upstream.protocolSpoken == .h2
        single = try Self.context(for: upstream, protocols: isStreamed ? ["http/1.1"] : [])
        streamed = isStreamed ? try Self.context(for: upstream, protocols: ["h2"]) : nil
    }

    private static func context(
        for upstream: UpstreamSettings,
        protocols: [String]
    ) throws(SnapshotProblem) -> TLSClientContext {
        var settings = TLSClientSettings()
        if !upstream.tls.verifies {
            settings.trust = .unverified
        } else if let path = upstream.tls.authorities {
            settings.trust = .authorities(pem: try PEMFile.read(path))
        }
        settings.applicationProtocols = protocols
        do throws(TLSFailure) {
            return try TLSClientContext(settings)
        } catch {
            throw SnapshotProblem(message: "TLS of upstream \(upstream.name): \(error)")
        }
    }
}
