// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Transport

extension ValueKind where Value == AddressRange {
    static let addressRange = ValueKind(
        "address range",
        "an address range such as 10.0.0.0/8 or 2001:db8::/32",
        parse: AddressRange.init(parsing:)
    )
}

extension ValueKind where Value == ConfiguredAddress {
    /// Where to listen: an IP address and a port.
    static let listenAddress = ValueKind(
        "address",
        "an IP address and a port, such as 0.0.0.0:8443 or [::]:8443",
        parse: AddressText.listening,
        write: AddressText.write
    )

    /// Where to listen for administrators: also `unix:` and a path.
    static let adminAddress = ValueKind(
        "address",
        read: { reader in
            let expectation = "unix: and a path, or an IP address and a port"
            guard let text = reader.text(expectation) else { return nil }
            if text.hasPrefix("unix:") {
                return AddressText.socketPath(text, reader).map { .unix(path: $0) }
            }
            return AddressText.listening(text) ?? reader.refuse(expectation)
        },
        write: AddressText.write
    )
}

extension ValueKind where Value == EndpointSettings {
    /// `http://host:port`, `https://host:port` or `unix:path`.
    static let endpoint = ValueKind(
        "endpoint",
        read: { reader in
            let expectation = "http://host:port, https://host:port or unix:path"
            guard let text = reader.text(expectation) else { return nil }
            if text.hasPrefix("unix:") {
                return AddressText.socketPath(text, reader).map { path in
                    EndpointSettings(address: .unix(path: path), usesTLS: false, text: text)
                }
            }
            guard let (address, usesTLS) = AddressText.endpoint(text, secure: "https", clear: "http", ports: (443, 80))
            else {
                return reader.refuse(expectation, hint: text.contains("://") ? nil : "http://\(text)")
            }
            return EndpointSettings(address: address, usesTLS: usesTLS, text: text)
        },
        write: { $0.text }
    )
}

/// Addresses in texts.
enum AddressText {
    static func write(_ address: ConfiguredAddress) -> String {
        switch address {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    /// The absolute path of a socket, behind `unix:`.
    static func socketPath(_ text: String, _ reader: ValueReader) -> String? {
        let path = String(text.dropFirst("unix:".count))
        let absolute = reader.context.absolute(path)
        // sockaddr_un holds 107 bytes and a zero.
        let isPath = !path.isEmpty && !path.utf8.contains(0) && absolute.utf8.count <= 107
        return isPath ? absolute : reader.refuse("unix: and a socket's path of at most 107 bytes")
    }

    /// An IP address (or `localhost`) and a port.
    static func listening(_ text: String) -> ConfiguredAddress? {
        guard let (host, port) = hostAndPort(text[...]), let port, port > 0 else { return nil }
        if host == "localhost" { return .tcp(host: "127.0.0.1", port: port) }
        return IPAddress(parsing: host) == nil ? nil : .tcp(host: host, port: port)
    }

    /// An address after one of two schemes; nothing but one slash may follow it.
    static func endpoint(
        _ text: String,
        secure: String,
        clear: String,
        ports: (secure: UInt16, clear: UInt16)
    ) -> (ConfiguredAddress, usesTLS: Bool)? {
        guard let mark = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<mark.lowerBound]
        guard scheme == secure || scheme == clear else { return nil }
        var rest = text[mark.upperBound...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard let (host, port) = hostAndPort(rest) else { return nil }
        let usesTLS = scheme == secure
        return (.tcp(host: host, port: port ?? (usesTLS ? ports.secure : ports.clear)), usesTLS)
    }

    /// Splits `host`, `host:port` or `[v6]:port`; IPv6 comes back without brackets, names in normal form.
    private static func hostAndPort(_ text: Substring) -> (host: String, port: UInt16?)? {
        let host: String
        var rest: Substring
        if text.hasPrefix("["), let close = text.firstIndex(of: "]") {
            guard let address = IPv6Text.canonical(text[..<close].dropFirst()) else { return nil }
            host = address
            rest = text[text.index(after: close)...]
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            let result = Result { () throws(SiteProblem) in try HostName.normal(text[..<colon]) }
            guard case .success(let name) = result else { return nil }
            host = name
            rest = text[colon...]
        }
        if rest.isEmpty { return (host, nil) }
        rest = rest.dropFirst()
        guard (1...5).contains(rest.utf8.count), rest.utf8.allSatisfy({ 48...57 ~= $0 }), let port = UInt16(rest),
            port > 0
        else { return nil }
        return (host, port)
    }
}
