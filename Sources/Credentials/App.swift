// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Synchronization

/// One app as the hot path sees it: compiled once from its record, immutable, shared.
///
/// A record that does not compile closes its own app and no other: the directory answers that it is broken.
package final class App: Sendable {
    package let record: AppRecord
    package let isOrganizationEnabled: Bool
    /// Origins of dialect A, exact.
    private let origins: ByteSet
    /// Domains of dialect C, `host` (any port) or `host:port`.
    private let domains: ByteSet
    private let keys: [CompiledKey]
    /// Where the process counts this app's requests: a place in a worker's table, negative until it has one.
    package let counterPlace = Atomic<Int>(-1)
    /// The members of an access-log line that name the app: identifiers, which hold nothing to escape.
    package let logMembers: [UInt8]
    private let nativeFields: [UInt8]
    private let engineFields: [UInt8]

    /// Compiles a record; throws when something in it is not in normal form, and the app must stay closed.
    package init(compiling record: AppRecord, isOrganizationEnabled: Bool = true) throws(AppProblem) {
        for origin in record.origins where SiteNormalizer.origin(adding: origin) != .success(origin) {
            throw .origin(origin)
        }
        for domain in record.domains where SiteNormalizer.domain(adding: domain) != .success(domain) {
            throw .domain(domain)
        }
        var compiled: [CompiledKey] = []
        for key in record.keys {
            guard let ready = CompiledKey(key) else { throw .key(key.id) }
            compiled.append(ready)
        }
        self.record = record
        self.isOrganizationEnabled = isOrganizationEnabled
        self.origins = ByteSet(record.origins)
        self.domains = ByteSet(record.domains)
        self.keys = compiled
        self.logMembers = Array(
            ",\"organization\":\"\(record.organization.rawValue)\",\"app\":\"\(record.appID.rawValue)\"".utf8
        )
        (self.nativeFields, self.engineFields) = Self.upstreamFields(record)
    }

    /// The field lines that tell an upstream which app was judged, in the names of the route's
    /// dialect (architecture §4).
    package func upstreamFields(_ dialect: Dialect) -> [UInt8] {
        dialect == .appengine ? engineFields : nativeFields
    }

    private static func upstreamFields(_ record: AppRecord) -> (native: [UInt8], engine: [UInt8]) {
        let organization = record.organization.rawValue
        let common = "Sallyport-Organization: \(organization)\r\nSallyport-App: \(record.appID.rawValue)\r\n"
        return (
            Array("\(common)X-App-Id: \(record.appID.rawValue)\r\n".utf8),
            Array("\(common)orgid: \(organization)\r\nappId: \(record.username)\r\n".utf8)
        )
    }

    package var recordID: RecordID { record.recordID }
    package var appID: AppID { record.appID }
    package var organization: OrganizationID { record.organization }
    package var username: String { record.username }
    /// Enabled itself, in an enabled organization.
    package var isEnabled: Bool { record.isEnabled && isOrganizationEnabled }

    /// Whether development mode is on at `now` (milliseconds since 1970).
    package func isInDevelopment(now: Int64) -> Bool {
        guard let end = record.developmentUntil, !record.isProduction else { return false }
        return now < end
    }

    /// Whether any native build is registered, of either platform.
    package var hasNativeIdentity: Bool { !record.native.ios.isEmpty || !record.native.android.isEmpty }

    /// Whether the `Origin` field's bytes name a listed origin; allocates only when they are not in normal form.
    package func allowsOrigin(_ origin: Span<UInt8>) -> Bool {
        if origins.contains(origin) { return true }
        if origins.isEmpty || SiteNormalizer.isNormalOrigin(origin) { return false }
        guard let text = origin.validText, case .success(let normal) = SiteNormalizer.origin(presented: text) else {
            return false
        }
        return origins.contains(normal.utf8.span)
    }

    /// Whether a page of this origin is on a listed domain (dialect C); allocates as `allowsOrigin` does.
    package func allowsSite(_ origin: Span<UInt8>) -> Bool {
        if domains.isEmpty { return false }
        if SiteNormalizer.isNormalOrigin(origin) { return DomainRule.isListed(normalOrigin: origin, in: domains) }
        guard let text = origin.validText, case .success(let normal) = SiteNormalizer.origin(presented: text) else {
            return false
        }
        return DomainRule.isListed(normalOrigin: normal.utf8.span, in: domains)
    }

    /// Whether the origin is allowed by the list that counts in a dialect.
    package func allows(origin: Span<UInt8>, in dialect: Dialect) -> Bool {
        switch dialect {
        case .offlineid, .vouch: allowsOrigin(origin)
        case .appengine: allowsSite(origin)
        }
    }

    /// Judges a presented key: its checksum, its id, then its keyed hash in constant time; a text that has passed all
    /// three before is only compared.
    package func verify(_ key: Span<UInt8>, with peppers: PepperRing) -> KeyVerdict {
        guard let name = APIKeyText.Name(unchecked: key) else { return .malformed }
        for candidate in keys where candidate.isNamed(by: name) {
            if candidate.isKnown(key, under: peppers) { return .valid(candidate.id) }
            guard APIKeyText(parsing: key) != nil else { return .malformed }
            return candidate.verify(key, under: peppers) ? .valid(candidate.id) : .invalid
        }
        return APIKeyText(parsing: key) == nil ? .malformed : .unknown
    }

    /// Judges the `domain` and `Origin` of a web sign-in (APP-038 to 052).
    package func judge(domain: String?, origin: String?) -> DomainVerdict {
        if record.domains.isEmpty { return .notConfigured }
        return DomainRule.judge(domain: domain, origin: origin, listed: domains)
    }
}

/// Why a record does not compile.
package enum AppProblem: Error, Equatable {
    case origin(String)
    case domain(String)
    case key(APIKeyID)
}

/// What a presented API key is worth for one app.
package enum KeyVerdict: Sendable, Equatable {
    case valid(APIKeyID)
    /// The form or the checksum is wrong: a mistyped key, nobody's.
    case malformed
    /// Well formed, but no key of this app.
    case unknown
    /// This app's key id with another secret.
    case invalid
}
