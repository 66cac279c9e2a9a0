// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// An `https` address, taken apart: what we fetch from, and nothing else.
package struct WebURL: Sendable, Hashable, CustomStringConvertible {
    /// The host, lower-case.
    package let host: String
    /// The port.
    package let port: UInt16
    /// The path and query, beginning with a slash.
    package let target: String

    /// The address that `text` writes, or nil: other schemes, users, fragments and odd characters are refused.
    package init?(_ text: String) {
        let scheme = "https://"
        guard text.hasPrefix(scheme), text.utf8.count <= 2_048,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.isEmpty, !authority.contains("@"), !authority.hasPrefix("[") else { return nil }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let name = parts.first, !name.isEmpty else { return nil }
        if parts.count == 2 {
            guard let port = UInt16(parts[1]), port > 0 else { return nil }
            self.port = port
        } else {
            port = 443
        }
        host = name.lowercased()
        let target = String(rest[end...])
        self.target = target.hasPrefix("/") ? target : "/" + target
    }

    /// The root of a host that is known to be one.
    init(host: StaticString) {
        self.host = "\(host)"
        port = 443
        target = "/"
    }

    /// This address with another target.
    package func with(target: String) -> WebURL? {
        WebURL("https://\(authority)\(target)")
    }

    /// What the `Host` field says.
    package var authority: String {
        port == 443 ? host : "\(host):\(port)"
    }

    package var description: String {
        "https://\(authority)\(target)"
    }
}

/// One request of ours to somebody's API.
package struct WebRequest: Sendable {
    /// Where to.
    package var url: WebURL
    /// The body; nil makes it a GET, anything else a POST.
    package var body: [UInt8]?
    /// Further fields: names and values are ours, never a client's.
    package var fields: [(name: String, value: String)]

    /// A request to `url`.
    package init(_ url: WebURL, body: [UInt8]? = nil, fields: [(name: String, value: String)] = []) {
        self.url = url
        self.body = body
        self.fields = fields
    }

    /// The bytes of the request: one connection each, closed after the answer.
    var bytes: [UInt8] {
        var text = "\(body == nil ? "GET" : "POST") \(url.target) HTTP/1.1\r\nHost: \(url.authority)\r\n"
        text += "User-Agent: sallyport\r\nAccept: application/json\r\nConnection: close\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        if let body { text += "Content-Length: \(body.count)\r\n" }
        return Array((text + "\r\n").utf8) + (body ?? [])
    }
}

/// What came back.
package struct WebAnswer: Sendable {
    /// The status code.
    package let status: Int
    /// The whole body.
    package let body: [UInt8]
    /// What `Cache-Control` says.
    package let cacheControl: String?
    /// What `ETag` says.
    package let entityTag: String?
}

/// Why nothing usable came back.
package enum WebFailure: Error, Equatable, Sendable {
    /// The name gave no address.
    case resolution
    /// The name leads to an address that is not connected to.
    case address(String)
    /// The connection or its TLS failed.
    case connection(String)
    /// What came back is not HTTP, or too much of it.
    case answer(String)
    /// No answer in time.
    case deadlinePassed
}
