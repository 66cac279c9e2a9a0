// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// The TLS side of a listener: certificates by server name, protocols, ticket keys.
///
/// Replaced in place by `reload`; connections that are open keep what they began with.
@Reactor
@safe
package final class TLSServerContext {
    /// Sealing keys of session tickets; nil disables resumption.
    package var ticketKeys: TicketKeys?

    /// Reads certificates and keys; any doubt is a failure that names the identity.
    package init(_ settings: TLSServerSettings, ticketKeys: TicketKeys? = nil) throws(TLSFailure) {
        self.ticketKeys = ticketKeys
    }

    /// Makes new connections use `settings`; on failure everything stays as it was.
    package func reload(_ settings: TLSServerSettings) throws(TLSFailure) {}
}

/// The TLS side of connections we open: trust, our own certificate, sessions to resume.
@Reactor
@safe
package final class TLSClientContext {
    /// Reads trust and identity.
    package init(_ settings: TLSClientSettings) throws(TLSFailure) {}
}
