// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

extension Exchange {
    /// Whether the request is for a host that this connection's certificate may speak for (RFC 9110 7.4).
    ///
    /// A browser sends requests for all names of a certificate on one HTTP/2 connection; for a name with a
    /// certificate of its own it must open another. A trusted proxy carries many hosts on one connection
    /// and has judged them itself.
    var isRightlyDirected: Bool {
        guard let connection = facts.connection, connection.isTLS, !connection.isTrustedProxy else { return true }
        if request.isFor(host: connection.servedHost) { return true }
        guard let tls = connection.tls else { return true }
        var host = request.hostText
        guard !host.isEmpty else { return true }
        let bytes = Array(host.utf8)
        if host.hasSuffix(".") { host.removeLast() }
        guard tls.serves(host, onConnectionTo: connection.session?.serverName) else { return false }
        connection.servedHost = bytes
        return true
    }
}

extension RequestHead {
    /// Whether the authority begins with exactly this host.
    fileprivate func isFor(host: [UInt8]) -> Bool {
        let authority = authority
        guard !host.isEmpty, authority.count >= host.count else { return false }
        for index in host.indices where authority[index] != host[index] { return false }
        return authority.count == host.count || authority[host.count] == UInt8(ascii: ":")
    }
}
