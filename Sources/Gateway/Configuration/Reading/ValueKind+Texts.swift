// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP

/// Names that users give to routes, upstreams, limits and issuers; they appear in logs and metrics.
enum Name {
    static let expectation = "a name of 1 to 63 lower-case letters, digits, - or _"

    static func parse(_ text: String) -> String? {
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isName && (1...63).contains(text.utf8.count) ? text : nil
    }
}

extension ValueKind where Value == String {
    static let text = ValueKind("text", "a text", parse: { $0.isEmpty ? nil : $0 }, write: { $0 })
    static let name = ValueKind("name", Name.expectation, parse: Name.parse, write: { $0 })

    /// A path, made absolute; relative ones start at the file's folder.
    static let path = ValueKind(
        "path",
        read: { reader in
            guard let text = reader.text("a path") else { return nil }
            return text.isEmpty || text.utf8.contains(0) ? reader.refuse("a path") : reader.context.absolute(text)
        },
        write: { $0 }
    )

    /// The name of an HTTP field, in lower case.
    static let fieldName = ValueKind(
        "field name",
        "the name of an HTTP field",
        parse: { text in
            let isToken = !text.isEmpty && text.utf8.allSatisfy(HTTPCharacters.isToken)
            return isToken ? text.lowercased() : nil
        },
        write: { $0 }
    )

    /// A method in capitals.
    static let method = ValueKind(
        "method",
        "an HTTP method in capitals, other than CONNECT, TRACE and TRACK",
        parse: { text in
            let isMethod =
                !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == 45 }
            return isMethod && !["CONNECT", "TRACE", "TRACK"].contains(text) ? text : nil
        },
        write: { $0 }
    )

    /// A host of a request: a name, `*.` and a name, or an IP address; never with a port.
    static let host = ValueKind(
        "host",
        "a host name such as api.example.com or *.example.com, without a port",
        parse: { text in
            if text.hasPrefix("["), text.hasSuffix("]") {
                return IPv6Text.canonical(text.dropFirst().dropLast()).map { "[\($0)]" }
            }
            let isWild = text.hasPrefix("*.")
            let result = Result { () throws(SiteProblem) in try HostName.normal(isWild ? text.dropFirst(2) : text[...])
            }
            guard case .success(let name) = result else { return nil }
            return isWild ? "*.\(name)" : name
        },
        write: { $0 }
    )

    /// A path of a request: begins with `/`, in the form that readers agree on.
    static let requestPath = ValueKind(
        "request path",
        "a path that begins with / and has no query, no //, no dot segment and no encoded byte",
        parse: { text in
            let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !Array("?#%\\\"<>^`{|}".utf8).contains($0) }
            guard text.hasPrefix("/"), isPlain, !text.contains("//") else { return nil }
            let segments = text.split(separator: "/")
            return segments.contains(".") || segments.contains("..") ? nil : text
        },
        write: { $0 }
    )

    /// A web address for people or for key servers.
    static let httpsURL = ValueKind(
        "https URL",
        "an address that begins with https://",
        parse: { text in
            let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
            guard isPlain, text.hasPrefix("https://"), case .success = SiteNormalizer.origin(adding: text) else {
                return nil
            }
            return text
        },
        write: { $0 }
    )
}

extension ValueKind where Value == OrganizationID {
    static let organization = ValueKind(
        "organization",
        "an organization: 1 to 63 lower-case letters, digits or -",
        parse: { text in
            let id = OrganizationID(rawValue: text)
            return id.isWellFormed ? id : nil
        },
        write: { $0.rawValue }
    )
}

extension ValueKind where Value == AppID {
    static let app = ValueKind(
        "App ID",
        "an App ID: app_ and 1 to 60 letters or digits",
        parse: { text in
            let id = AppID(rawValue: text)
            return id.isWellFormed ? id : nil
        },
        write: { $0.rawValue }
    )
}

/// Classes of bytes of RFC 9110.
enum HTTPCharacters {
    static func isToken(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
    }

    /// A field value in one line: printable, spaces and tabs inside only.
    static func isFieldValue(_ text: String) -> Bool {
        !text.hasPrefix(" ") && !text.hasSuffix(" ") && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 9 }
    }
}
