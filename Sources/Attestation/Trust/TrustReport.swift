// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
package import Encodings

/// What a trust bundle is worth at some moment: each root's days, the list's age, and what someone must see to.
package struct TrustReport: Sendable {
    /// One root.
    package struct Row: Sendable {
        /// Its file.
        package let file: String
        /// What it is for.
        package let purpose: TrustBundle.Purpose
        /// SHA-256 of the certificate.
        package let fingerprint: String
        /// Its last second.
        package let notAfter: Int64
        /// Whole days until then; negative once it is over.
        package let daysLeft: Int64
        /// Whether its own dates count: Android roots are matched by key, whose copies expire without effect.
        package let areDatesJudged: Bool
    }

    /// The bundle's version.
    package let version: String
    /// Each root.
    package let rows: [Row]
    /// Whether a root is none of those that the program carries: a bundle for tests, or a vendor's newer one.
    private let hasOtherRoots: Bool
    /// How many serial numbers the status list names; nil if there is no list.
    package let statusListCount: Int?
    /// The list's age in hours; nil if there is no list.
    package let statusListAge: Int64?
    /// What someone must see to, in sentences.
    package let warnings: [String]

    /// A root that counts by its dates is warned of this many days before its end.
    private static let rootWarningDays: Int64 = 400
    /// A status list older than this many hours is stale: Google's own caching allows a day.
    private static let staleHours: Int64 = 7 * 24

    /// The warning of a bundle without a list.
    package static let noStatusList = "There is no status list: revoked Android certificates are not noticed."

    /// The report on `bundle` at `now`.
    package init(_ bundle: TrustBundle, at now: Moment) {
        version = bundle.version
        rows = bundle.roots.map { root in
            let notAfter = root.anchor.certificate.validity?.notAfter ?? 0
            return Row(
                file: root.file,
                purpose: root.purpose,
                fingerprint: Hex.encode(SHA256.hash(root.anchor.certificate.der).bytes),
                notAfter: notAfter,
                daysLeft: (notAfter - now.seconds) / 86_400,
                areDatesJudged: root.purpose == .apple
            )
        }
        let carried = BuiltInTrust.names.compactMap { BuiltInTrust.text(ofFile: $0) }
        hasOtherRoots = !bundle.roots.allSatisfy { root in
            carried.contains(PEMBlock(label: "CERTIFICATE", bytes: root.anchor.certificate.der).text)
        }
        statusListCount = bundle.statusListTime == nil ? nil : bundle.statusList.count
        statusListAge = bundle.statusListTime.map { (now.seconds - $0.seconds) / 3_600 }
        var warnings: [String] = []
        for row in rows where row.areDatesJudged && row.daysLeft < Self.rootWarningDays {
            warnings.append("\(row.file) ends in \(row.daysLeft) days: proofs under it are refused from then on.")
        }
        for purpose in [TrustBundle.Purpose.apple, .android] where !rows.contains(where: { $0.purpose == purpose }) {
            warnings.append("No root for \(purpose.rawValue): every such proof is refused or degraded.")
        }
        if let age = statusListAge {
            if age >= Self.staleHours { warnings.append("The status list is \(age / 24) days old.") }
        } else {
            warnings.append(Self.noStatusList)
        }
        if hasOtherRoots { warnings.append("A root of this bundle is none that the program carries.") }
        self.warnings = warnings
    }

    /// The report as one JSON object.
    package var json: String {
        var writer = JSONWriter(capacity: 2_048)
        writer.value(value)
        return writer.text
    }

    /// The report as a value.
    package var value: JSONValue {
        var report = JSONObject()
        report.set("version", .string(version))
        report.set("roots", .array(rows.map(Self.value)))
        report.set("test_roots", .bool(hasOtherRoots))
        report.set("status_list_entries", statusListCount.map { .number(JSONNumber($0)) } ?? .null)
        report.set("status_list_age_hours", statusListAge.map { .number(JSONNumber(Int($0))) } ?? .null)
        report.set("warnings", .array(warnings.map { .string($0) }))
        return .object(report)
    }

    private static func value(of row: Row) -> JSONValue {
        var root = JSONObject()
        root.set("file", .string(row.file))
        root.set("for", .string(row.purpose.rawValue))
        root.set("sha256", .string(row.fingerprint))
        root.set("not_after", .string(InternetTime.text(seconds: row.notAfter)))
        root.set("days_left", .number(JSONNumber(Int(row.daysLeft))))
        root.set("dates_judged", .bool(row.areDatesJudged))
        return .object(root)
    }
}
