// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Credentials
import Encodings

/// Whose tokens a watermark ends.
package enum RevocationSubject: Sendable, Hashable {
    case app(RecordID)
    case key(APIKeyID)
    case device(RecordID, String)
    case person(OrganizationID, String)

    /// Reads a name as it is in Redis.
    init?(name: String) {
        let parts = name.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.count) {
        case ("a", 2): self = .app(RecordID(rawValue: parts[1]))
        case ("k", 2): self = .key(APIKeyID(rawValue: parts[1]))
        case ("d", 3): self = .device(RecordID(rawValue: parts[1]), parts[2])
        case ("p", 3): self = .person(OrganizationID(rawValue: parts[1]), parts[2])
        default: return nil
        }
    }

    /// The digest under which a worker keeps the subject; makes no text.
    var digest: Int {
        switch self {
        case .app(let id): digestOf(.appMark, id.rawValue.utf8.span)
        case .key(let id): digestOf(.keyMark, id.rawValue.utf8.span)
        case .device(let app, let device): digestOf(.deviceMark, app.rawValue.utf8.span, device.utf8.span)
        case .person(let organization, let person):
            digestOf(.personMark, organization.rawValue.utf8.span, person.utf8.span)
        }
    }

    /// The name in Redis: one letter, then the parts; only the last part may hold any character.
    var name: String {
        switch self {
        case .app(let id): "a/" + id.rawValue
        case .key(let id): "k/" + id.rawValue
        case .device(let app, let device): "d/\(app.rawValue)/\(device)"
        case .person(let organization, let person): "p/\(organization.rawValue)/\(person)"
        }
    }
}

/// Tokens that count no longer: some by their ids, or all of a subject that were issued before a moment.
///
/// Times are milliseconds since 1970. `expiresAt` is when the last token that could be meant has expired by itself.
package struct Revocation: Sendable, Equatable {
    /// One token.
    package struct Token: Sendable, Equatable {
        package var id: String
        package var expiresAt: Int64

        package init(id: String, expiresAt: Int64) {
            self.id = id
            self.expiresAt = expiresAt
        }
    }

    /// One watermark.
    package struct Mark: Sendable, Equatable {
        package var subject: RevocationSubject
        package var notBefore: Int64
        package var expiresAt: Int64

        package init(subject: RevocationSubject, notBefore: Int64, expiresAt: Int64) {
            self.subject = subject
            self.notBefore = notBefore
            self.expiresAt = expiresAt
        }
    }

    /// How long a revocation is kept past its end: an outside token counts for the leeway after its own, and nodes'
    /// clocks may differ from the store's.
    package static let margin: Int64 = 600_000

    package var tokens: [Token]
    package var marks: [Mark]

    package init(tokens: [Token] = [], marks: [Mark] = []) {
        self.tokens = tokens
        self.marks = marks
    }

    /// The tokens as the script and the stream have them: `[[id, expiry], …]`.
    var tokenList: JSONValue {
        .array(tokens.map { .array([.string($0.id), .number(JSONNumber(Int($0.expiresAt)))]) })
    }

    /// The watermarks as the script and the stream have them: `[[subject, not before, expiry], …]`.
    var markList: JSONValue {
        .array(
            marks.map { mark in
                .array([
                    .string(mark.subject.name), .number(JSONNumber(Int(mark.notBefore))),
                    .number(JSONNumber(Int(mark.expiresAt))),
                ])
            }
        )
    }
}
