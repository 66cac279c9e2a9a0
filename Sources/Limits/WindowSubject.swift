// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The client's network as windows count it: an IPv4 address, or the /64 of an IPv6 address.
///
/// One customer commands a whole /64, so anything narrower would be no limit at all.
package struct ClientNetwork: Hashable, Sendable {
    /// IPv4: the address in the low 32 bits; IPv6: the upper 64 bits.
    package let bits: UInt64
    package let isIPv4: Bool

    /// The network of an IPv4 address, first octet highest.
    package init(ipv4 address: UInt32) {
        bits = UInt64(address)
        isIPv4 = true
    }

    /// The network of an IPv6 address; an IPv4-mapped one (::ffff:0:0/96) counts as IPv4.
    package init(ipv6High high: UInt64, low: UInt64) {
        let isMapped = high == 0 && low >> 32 == 0xffff
        bits = isMapped ? low & 0xffff_ffff : high
        isIPv4 = isMapped
    }
}

/// Who and what a request is counted for.
package struct WindowSubject: Sendable {
    package var organization: String
    /// The app's record id; empty on open routes.
    package var app: String
    /// The API key's id, where one was presented.
    package var key: String?
    /// The person's name from its token.
    package var person: String?
    package var client: ClientNetwork
    package var route: String

    package init(
        organization: String,
        app: String,
        key: String? = nil,
        person: String? = nil,
        client: ClientNetwork,
        route: String
    ) {
        self.organization = organization
        self.app = app
        self.key = key
        self.person = person
        self.client = client
        self.route = route
    }
}

/// Builds the Redis key of a window into a reused buffer.
///
/// A key begins with the tag of what it belongs to, so that an app's keys lie together: `{record id}`, or
/// `{org:name}` where the rule counts over all apps of an organization, or `{route:name}` where it counts over all.
/// Values of clients are written with their length, so that no value can look like two.
package enum WindowKey {
    /// Appends the key of `rule` for `subject`.
    ///
    /// A request without a key or person is counted by its network in that place: leaving the credential out must
    /// neither escape the limit nor share one window with every other caller.
    package static func append(_ rule: WindowRule, for subject: WindowSubject, to buffer: inout [UInt8]) {
        let per = rule.per
        if per.contains(.app) || per.contains(.key) {
            append(tag: "", subject.app, to: &buffer)
        } else if per.contains(.organization) {
            append(tag: "org:", subject.organization, to: &buffer)
        } else {
            append(tag: "route:", per.contains(.route) ? subject.route : "", to: &buffer)
        }
        buffer.append(contentsOf: rule.keyPart)
        for dimension in per {
            switch dimension {
            case .organization, .app: break
            case .key: append("k", subject.key, else: subject.client, to: &buffer)
            case .person: append("p", subject.person, else: subject.client, to: &buffer)
            case .client: append(subject.client, to: &buffer)
            case .route: append("r", subject.route, else: subject.client, to: &buffer)
            }
        }
    }

    private static func append(tag: String, _ value: String, to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "{"))
        append(tag, to: &buffer)
        append(value, to: &buffer)
        buffer.append(UInt8(ascii: "}"))
    }

    private static func append(
        _ letter: Unicode.Scalar,
        _ value: String?,
        else client: ClientNetwork,
        to buffer: inout [UInt8]
    ) {
        guard let value else { return append(client, to: &buffer) }
        buffer.append(UInt8(ascii: ":"))
        buffer.append(UInt8(ascii: letter))
        buffer.append(decimal: Int64(value.utf8.count))
        buffer.append(UInt8(ascii: "="))
        append(value, to: &buffer)
    }

    private static func append(_ client: ClientNetwork, to buffer: inout [UInt8]) {
        append(client.isIPv4 ? ":c4=" : ":c6=", to: &buffer)
        var shift = client.isIPv4 ? 28 : 60
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: client.bits >> UInt64(shift)) & 15
            buffer.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            shift -= 4
        }
    }

    private static func append(_ text: String, to buffer: inout [UInt8]) {
        buffer.append(contentsOf: text.utf8)
    }
}
