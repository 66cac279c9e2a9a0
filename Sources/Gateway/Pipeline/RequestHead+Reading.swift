// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Buffers
import Credentials
import HTTP
import Store
import Transport

/// What the phases ask of a head. Methods of the head itself, because spans into it do not leave it.
extension RequestHead {
    /// The first value of a field as text, off the hot path; empty when it did not come.
    func text(of field: KnownField) -> String {
        guard let value = fields.first(field) else { return "" }
        return value.lossyText
    }

    /// The method as text, off the hot path.
    var methodText: String {
        let bytes = methodBytes
        return bytes.lossyText
    }

    /// The path as text, off the hot path.
    var pathText: String {
        let bytes = path
        return bytes.lossyText
    }

    /// The target as text, off the hot path.
    var targetText: String {
        let bytes = target
        return bytes.lossyText
    }

    /// Whether the request says which host it is for; only HTTP/1.0 may keep it to itself.
    var hasAuthority: Bool {
        let bytes = authority
        return !bytes.isEmpty
    }

    /// The authority as text, off the hot path.
    var authorityText: String {
        let bytes = authority
        return bytes.lossyText
    }

    /// The host the request is for, without its port, off the hot path.
    var hostText: String {
        let authority = authority
        let host = authority.extracting(Authority(authority)?.host ?? 0..<0)
        return host.lossyText
    }

    /// Whether the path has one form only.
    var hasPlainPath: Bool { HTTP.PathPolicy.isPlain(path) }

    /// Applies a path policy; appends the form to forward, or says why the path is refused.
    func applyPathPolicy(_ policy: HTTP.PathPolicy, into form: inout ByteBuffer) -> PathProblem? {
        do throws(PathProblem) {
            try policy.apply(to: path, into: &form)
            return nil
        } catch {
            return error
        }
    }

    /// Whether the path is exactly what `form` holds.
    func pathEquals(_ form: borrowing ByteBuffer) -> Bool {
        let path = path
        return path.equals(form.bytes)
    }

    /// Whether the path is exactly `other`.
    func pathEquals(_ other: [UInt8]) -> Bool {
        let path = path
        return path.equals(other.span)
    }

    /// The key id inside a well-formed `X-Api-Key`.
    var presentedKeyID: APIKeyID? {
        guard let key = fields.first(.xAPIKey) else { return nil }
        return APIKeyText(parsing: key)?.keyID
    }

    /// Whether the app lists the request's `Origin`.
    func hasOrigin(listedBy app: App, in dialect: Dialect) -> Bool {
        guard let origin = fields.first(.origin) else { return false }
        return app.allows(origin: origin, in: dialect)
    }

    /// Asks the directory for the app this head names.
    @Reactor
    func app(named naming: AppNaming, in directory: AppDirectory) -> AppLookup {
        switch naming {
        case .appID:
            guard let id = fields.first(.xAppID) else { return .unknown }
            return directory.app(id: id)
        case .organizationAndName:
            guard let organization = fields.first(.orgID), let name = fields.first(.appID) else { return .unknown }
            return directory.app(organization: organization, name: name)
        case .apiKey:
            guard let field = fields.first(.xAPIKey), let key = APIKeyText(parsing: field) else { return .unknown }
            let id = key.idBytes
            return directory.app(key: id.span)
        case .route, .token, .refused:
            return .unknown
        }
    }

    /// The address that `X-Forwarded-For` names once trusted proxies are passed, from right to left (B21).
    ///
    /// Anything unreadable ends the walk at the last address that can be believed.
    func client(behind peer: IPAddress, trusted: [AddressRange]) -> IPAddress {
        var believed = peer
        var index = fields.count
        while index > 0 {
            index -= 1
            guard fields.field(at: index) == .xForwardedFor else { continue }
            let value = fields.value(at: index)
            var end = value.count
            while end > 0 {
                var start = end
                while start > 0, value[start - 1] != UInt8(ascii: ",") { start -= 1 }
                let entry = value.extracting(start..<end).trimmed.lossyText
                guard let address = IPAddress(parsing: entry) else { return believed }
                believed = address
                if !trusted.contains(where: { $0.contains(address) }) { return believed }
                end = start - 1
            }
        }
        return believed
    }
}
