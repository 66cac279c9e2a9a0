// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

@testable import Gateway

/// Every section of the file in the order of its documentation.
enum ConfigurationSchema {
    static let sections: [SectionSchema] = [
        RootSection.schema, ListenerSection.schema, SectionSchema("listeners[].limits[]", LimitSection.rows),
        ProxyProtocolSection.schema,
        SectionSchema("listeners[].tls", TLSSection.rows),
        SectionSchema("listeners[].tls.certificates[]", CertificateSection.rows), AdminSection.schema,
        MetricsSection.schema, LogSection.schema, StateSection.schema, LossSection.schema, SecretSection.schema,
        TrustSection.schema,
        ClientAddressSection.schema, IssuerSection.schema, IssuerKeySection.schema, ClaimSection.schema,
        TokenSection.schema,
        UpstreamSection.schema, UpstreamTLSSection.schema, UpstreamTimeoutSection.schema, PoolSection.schema,
        EjectionSection.schema, RouteSection.schema, MatchSection.schema, AccessSection.schema,
        SignInSection.schema, CORSSection.schema,
        SectionSchema("routes[].limits[]", LimitSection.rows),
        SectionSchema("routes[].request_headers", HeaderSection.rows), ClientSection.schema,
        RouteTimeoutSection.schema, ForwardSection.schema, HTTPSection.schema, TimeoutSection.schema,
        ConnectionSection.schema, HTTP2Section.schema, MemorySection.schema,
    ]

    /// The tables as `config/README.md` shows them.
    static var documentation: String {
        sections.map(table).joined(separator: "\n")
    }

    private static func table(_ section: SectionSchema) -> String {
        var text = "### \(section.path.isEmpty ? "The file" : "`\(section.path)`")\n\n"
        text += "| key | type | standard value | changes by | meaning |\n| - | - | - | - | - |\n"
        for row in section.rows {
            text += "| `\(row.name)` | \(row.type) | \(row.standard) | \(row.reload.rawValue) | \(row.note) |\n"
        }
        return text
    }
}
