// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Telemetry

/// Where Redis is and who we are to it.
package struct RedisEndpoint: Sendable, Equatable {
    /// The ways to reach a server.
    package enum Address: Sendable, Equatable {
        case unix(path: String)
        case tcp(host: String, port: UInt16, isTLS: Bool)
    }

    package var address: Address
    /// The ACL user; nil means `default`.
    package var user: String?
    package var password: Secret<String>?
    package var database: Int
    /// The authorities trusted for the server's certificate, PEM; nil: the system's.
    package var authorities: [UInt8]?
    /// Whether every acknowledged write survives a restart, and no replica can take over: the embedded server.
    package var losesNothing = false

    package init(
        address: Address,
        user: String? = nil,
        password: Secret<String>? = nil,
        database: Int = 0,
        authorities: [UInt8]? = nil
    ) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
        self.authorities = authorities
    }
}
