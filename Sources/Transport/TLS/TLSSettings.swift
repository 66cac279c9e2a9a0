// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Crypto

/// A TLS version this product speaks.
package enum TLSVersion: String, Comparable, Sendable {
    case v1_2 = "TLSv1.2"
    case v1_3 = "TLSv1.3"

    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left == .v1_2 && right == .v1_3 }
}

/// What a finished handshake agreed on.
package struct TLSSessionFacts: Equatable, Sendable {
    /// The server name the client asked for, lower-case.
    package var serverName: String?
    /// The protocol chosen by ALPN, such as `h2`.
    package var applicationProtocol: String?
    package var version: TLSVersion
    /// Whether an earlier session was resumed.
    package var isResumed: Bool
}

/// What a listener's TLS needs; the certificates and keys are PEM as read from files.
package struct TLSServerSettings: Sendable {
    /// One certificate chain with its key.
    package struct Identity: Sendable {
        /// How configuration and logs name it.
        package var name: String
        package var chainPEM: [UInt8]
        package var keyPEM: SecretBytes

        package init(name: String, chainPEM: [UInt8], keyPEM: SecretBytes) {
            self.name = name
            self.chainPEM = chainPEM
            self.keyPEM = keyPEM
        }
    }

    /// Server names are taken from each certificate's subject alternative names; the first that fits wins.
    package var identities: [Identity]
    /// The `name` of the identity for clients that ask for no name or an unknown one; nil refuses them.
    package var defaultIdentity: String?
    /// ALPN names in order of preference.
    package var applicationProtocols: [String] = ["http/1.1"]
    package var minimumVersion = TLSVersion.v1_2

    package init(identities: [Identity], defaultIdentity: String?) {
        self.identities = identities
        self.defaultIdentity = defaultIdentity
    }
}

/// The keys that seal session tickets, the same in all workers: the current one seals, the previous one still opens.
package struct TicketKeys: Sendable {
    /// One 80-byte key: 16 bytes of name, 32 for AES-256-CBC, 32 for HMAC-SHA-256.
    package struct Key: Sendable {
        let bytes: SecretBytes

        /// Takes exactly 80 random bytes.
        package init?(bytes: SecretBytes) {
            guard bytes.count == 80 else { return nil }
            self.bytes = bytes
        }
    }

    package var current: Key
    package var previous: Key?

    package init(current: Key, previous: Key? = nil) {
        self.current = current
        self.previous = previous
    }
}

/// How an upstream's or Redis's TLS is checked.
package struct TLSClientSettings: Sendable {
    /// Which certificates are trusted.
    package enum Trust: Sendable {
        case system
        case authorities(pem: [UInt8])
        /// No check at all: only for tests and for development settings that say so.
        case unverified
    }

    package var trust = Trust.system
    package var applicationProtocols: [String] = []
    package var minimumVersion = TLSVersion.v1_2
    /// A certificate of our own, where the server asks for one.
    package var identity: TLSServerSettings.Identity?

    package init(trust: Trust = .system) {
        self.trust = trust
    }
}
