// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Limits
package import Transport

/// One socket that takes requests.
package struct ListenerSettings: Sendable, Equatable {
    package var address: ConfiguredAddress
    package var traffic: ListenerTraffic
    /// The families of endpoints that the gateway answers here itself.
    package var serves: [EndpointGroup] = []
    /// Windows on the requests of clients to what is served here.
    package var limits: [WindowRule] = []
    /// Nil: connections begin with TLS or HTTP.
    package var proxyProtocol: ProxyProtocolSettings?
}

/// Balancers in front of a listener that speak the PROXY protocol.
package struct ProxyProtocolSettings: Sendable, Equatable {
    /// The only peers whose connections are taken.
    package var sources: [AddressRange]
    /// Whether a connection without a header is refused.
    package var isRequired: Bool
}

/// What a listener does with what arrives.
package enum ListenerTraffic: Sendable, Equatable {
    case tls(TLSSettings)
    case clear
    /// Answers every clear request with 308 to https on this port.
    case redirectToHTTPS(port: UInt16)
}

/// How a listener ends TLS.
package struct TLSSettings: Sendable, Equatable {
    package var certificates: [CertificateSettings]
    /// The index into `certificates` that an unknown or missing name gets; nil: it is refused.
    package var fallback: Int?
    /// In order of preference, for ALPN.
    package var protocols: [ApplicationProtocol]
    package var tickets: Bool
}

/// A certificate chain and its key: paths of PEM files.
package struct CertificateSettings: Sendable, Hashable {
    package var certificate: String
    package var key: String
}

/// A protocol that ALPN may agree on.
package enum ApplicationProtocol: String, Sendable, CaseIterable {
    case http2 = "h2"
    case http11 = "http/1.1"
}
