// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import HTTP
import Store

extension AdminRoutes {
    static let nativeRoutes: [Route] = [
        Route("GET", "apps/*/native") { routes, request async throws(AdminProblem) in
            AdminAnswer(.object(routes.describe(try await routes.app(request.path[1]).native)))
        },
        Route("POST", "apps/*/native/ios") { routes, request async throws(AdminProblem) in
            try await routes.addIOS(request)
        },
        Route("POST", "apps/*/native/android") { routes, request async throws(AdminProblem) in
            try await routes.addAndroid(request)
        },
        Route("DELETE", "apps/*/native/ios/*") { routes, request async throws(AdminProblem) in
            try await routes.removeIOS(request)
        },
        Route("DELETE", "apps/*/native/android/*") { routes, request async throws(AdminProblem) in
            try await routes.removeAndroid(request, fingerprint: nil)
        },
        Route("DELETE", "apps/*/native/android/*/*") { routes, request async throws(AdminProblem) in
            try await routes.removeAndroid(request, fingerprint: request.path[5])
        },
    ]

    private func addIOS(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let identity = IOSIdentity(bundleID: try request.text("bundle_id"), teamID: try request.text("team_id"))
        guard NativeNames.isBundleID(identity.bundleID) else {
            throw .badRequest("\"\(identity.bundleID)\" is no bundle id: letters, digits, - and dots")
        }
        guard NativeNames.isTeamID(identity.teamID) else {
            throw .badRequest("\"\(identity.teamID)\" is no team id: ten capitals or digits")
        }
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            guard !record.native.ios.contains(identity) else { return [] }
            record.native.ios.append(identity)
            return [HistoryEvent("native_ios_added", Self.details(identity))]
        } describe: { record, isChanged in
            let verb = isChanged ? "registered" : "already registered"
            return [("message", .string("\(identity.bundleID), team \(identity.teamID): \(verb)"))]
                + self.describe(record.native)
        }
    }

    /// Fingerprints are merged with those registered (OFF-137).
    private func addAndroid(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let package = try request.text("package")
        guard NativeNames.isBundleID(package) else { throw .badRequest("\"\(package)\" is no package name") }
        var fingerprints: [String] = []
        for text in try request.texts("sha256") { fingerprints.append(try fingerprint(text)) }
        guard !fingerprints.isEmpty else { throw .badRequest("at least one sha256 is needed") }
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            let place = record.native.android.firstIndex { $0.package == package }
            let known = place.map { record.native.android[$0].sha256 } ?? []
            let fresh = fingerprints.filter { !known.contains($0) }
            guard !fresh.isEmpty else { return [] }
            if let place {
                record.native.android[place].sha256 += fresh
            } else {
                record.native.android.append(AndroidIdentity(package: package, sha256: fresh))
            }
            return [HistoryEvent("native_android_added", [("package", .string(package)), ("sha256", .texts(fresh))])]
        } describe: { record, isChanged in
            let verb = isChanged ? "registered" : "already registered"
            return [("message", .string("\(package): \(verb)"))] + self.describe(record.native)
        }
    }

    private func removeIOS(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let bundle = request.path[4]
        let team = request.query["team_id"]
        return try await change(app: request.path[1], by: request.by) { record throws(RegistryError) in
            let gone = record.native.ios.filter { $0.bundleID == bundle && (team == nil || $0.teamID == team) }
            record.native.ios.removeAll(where: gone.contains)
            return gone.map { HistoryEvent("native_ios_removed", Self.details($0)) }
        } describe: { record, isChanged in
            [("message", .string("\(bundle) \(isChanged ? "is registered no more" : "was not registered")"))]
                + self.describe(record.native)
        }
    }

    private func removeAndroid(
        _ request: AdminRequest,
        fingerprint text: String?
    ) async throws(AdminProblem) -> AdminAnswer {
        let package = request.path[4]
        var only: String?
        if let text { only = try fingerprint(text) }
        return try await change(app: request.path[1], by: request.by) { [only] record throws(RegistryError) in
            guard let place = record.native.android.firstIndex(where: { $0.package == package }) else { return [] }
            let gone = record.native.android[place].sha256.filter { only == nil || $0 == only }
            guard !gone.isEmpty else { return [] }
            record.native.android[place].sha256.removeAll(where: gone.contains)
            if record.native.android[place].sha256.isEmpty { record.native.android.remove(at: place) }
            return [HistoryEvent("native_android_removed", [("package", .string(package)), ("sha256", .texts(gone))])]
        } describe: { record, isChanged in
            [("message", .string("\(package) \(isChanged ? "is registered no more" : "was not registered")"))]
                + self.describe(record.native)
        }
    }

    private func fingerprint(_ text: String) throws(AdminProblem) -> String {
        guard let fingerprint = NativeNames.fingerprint(text) else {
            throw .badRequest("\"\(text)\" is no SHA-256 fingerprint: 64 hexadecimal digits, colons allowed")
        }
        return fingerprint
    }

    private static func details(_ identity: IOSIdentity) -> [(name: String, value: JSONValue)] {
        [("bundle_id", .string(identity.bundleID)), ("team_id", .string(identity.teamID))]
    }

    private func describe(_ native: NativeIdentities) -> [(String, JSONValue)] {
        let ios = native.ios.map { identity in
            JSONValue.object([("bundle_id", .string(identity.bundleID)), ("team_id", .string(identity.teamID))])
        }
        let android = native.android.map { identity in
            JSONValue.object([("package", .string(identity.package)), ("sha256", .texts(identity.sha256))])
        }
        return [("ios", .array(ios)), ("android", .array(android))]
    }
}

/// The forms of native names; pure.
package enum NativeNames {
    /// Whether `text` has the form of a bundle ID or a package name.
    package static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count) && text.contains(".") && !text.hasPrefix(".") && !text.hasSuffix(".")
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }
    }

    /// Whether `text` has the form of a Team ID.
    package static func isTeamID(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0.isASCIIDigit }
    }

    /// 64 lower-case digits; colons and capitals as `keytool` prints them are taken.
    static func fingerprint(_ text: String) -> String? {
        let digits = text.lowercased().filter { $0 != ":" }
        return digits.utf8.count == 64 && digits.utf8.allSatisfy(\.isLowerHex) ? digits : nil
    }
}
