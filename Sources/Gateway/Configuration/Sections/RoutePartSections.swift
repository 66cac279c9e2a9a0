// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Limits
import Transport

/// The keys of `routes[].limits[]` and of `listeners[].limits[]`.
enum LimitSection {
    static let name = Setting("name", ValueKind.name, .required, "Shown in `RateLimit` and in metrics.")
    static let per = Setting(
        "per",
        ValueKind.list(of: ValueKind<WindowDimension>.choice, atLeast: 1),
        .required,
        "What is counted by; several together count by their combination. IPv6 clients count by /64."
    )
    static let limit = Setting(
        "limit",
        .integer(WindowRule.limits),
        .required,
        "Most units in any interval of `window`."
    )
    static let window = Setting("window", .duration(WindowRule.windows), .required, "The length of the interval.")
    static let cost = Setting("cost", .integer(1...1_000_000), .standard(1), "Units of one request.")
    static let shadow = Setting("shadow", .flag, .standard(false), "Counts and reports, refuses nobody.")

    static let rows = [name.row, per.row, limit.row, window.row, cost.row, shadow.row]

    static func kind(at path: String) -> ValueKind<WindowRule> {
        .section(SectionSchema(path, rows), read: read)
    }

    private static func read(_ section: SectionReader) -> WindowRule? {
        let name = section.value(name)
        let per = section.value(per)
        let limit = section.value(limit)
        let window = section.value(window)
        let cost = section.value(cost)
        guard let shadow = section.value(shadow), let name, let per, let limit, let window, let cost else { return nil }
        if cost > limit {
            section.report("cost is larger than limit, so no request would ever pass", at: "cost", found: "\(cost)")
            return nil
        }
        if Set(per).count < per.count { section.report("a word is here twice", at: "per") }
        return WindowRule(name: name, per: per, limit: limit, window: window, cost: cost, isShadow: shadow)
    }
}

/// The keys of `routes[].clients`.
enum ClientSection {
    static let allow = Setting(
        "allow",
        ValueKind.list(of: ValueKind.addressRange),
        .standard([]),
        "Only these ranges. Empty: any."
    )
    static let deny = Setting(
        "deny",
        ValueKind.list(of: ValueKind.addressRange),
        .standard([]),
        "Never these, whatever `allow` says."
    )

    static let schema = SectionSchema("routes[].clients", [allow.row, deny.row])

    static let kind = ValueKind<ClientRanges>.section(schema) { section in
        let allow = section.value(allow)
        guard let deny = section.value(deny), let allow else { return nil }
        return ClientRanges(allow: allow, deny: deny)
    }
}

/// `routes[].timeouts` as written.
struct TimeoutOverrides: Sendable {
    var connect: Duration?
    var firstByte: Duration?
    var idle: Duration?
    var total: Duration?

    /// The upstream's deadlines with these in their place.
    func over(_ standard: UpstreamTimeoutSettings) -> UpstreamTimeoutSettings {
        UpstreamTimeoutSettings(
            connect: connect ?? standard.connect,
            firstByte: firstByte ?? standard.firstByte,
            idle: idle ?? standard.idle,
            total: total ?? standard.total
        )
    }
}

/// The keys of `routes[].timeouts`.
enum RouteTimeoutSection {
    static let connect = optional(UpstreamTimeoutSection.connect)
    static let firstByte = optional(UpstreamTimeoutSection.firstByte)
    static let idle = optional(UpstreamTimeoutSection.idle)
    static let total = optional(UpstreamTimeoutSection.total)

    private static func optional(_ setting: Setting<Duration>) -> Setting<Duration> {
        Setting(setting.name, setting.kind, .optional, "Left out: the upstream's.")
    }

    static let schema = SectionSchema("routes[].timeouts", [connect.row, firstByte.row, idle.row, total.row])

    static let kind = ValueKind<TimeoutOverrides>.section(schema) { section in
        TimeoutOverrides(
            connect: section.value(connect),
            firstByte: section.value(firstByte),
            idle: section.value(idle),
            total: section.value(total)
        )
    }
}
