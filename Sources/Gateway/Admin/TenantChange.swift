// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store

extension TenantsFile.App {
    /// Brings `record` to the file's state and tells each change as the single commands would (OFF-140).
    ///
    /// Pure.
    func bring(_ record: inout AppRecord, now: Int64) throws(RegistryError) -> [HistoryEvent] {
        var events: [HistoryEvent] = []
        if let username, username != record.username {
            events.append(
                HistoryEvent("username_changed", [("from", .string(record.username)), ("to", .string(username))])
            )
            record.username = username
        }
        if let name, name != record.name {
            events.append(HistoryEvent("name_changed", [("from", .string(record.name)), ("to", .string(name))]))
            record.name = name
        }
        if let dialects, dialects != record.dialects {
            events.append(HistoryEvent("dialects_changed", [("to", .texts(dialects.map(\.rawValue)))]))
            record.dialects = dialects
        }
        if let origins { events += Self.bring(&record.origins, to: origins, "origin") }
        if let domains { events += Self.bring(&record.domains, to: domains, "domain") }
        if let ios { events += Self.bring(&record.native.ios, to: ios) }
        if let android { events += Self.bring(&record.native.android, to: android) }
        events += try bringSwitches(of: &record, now: now)
        return events
    }

    private func bringSwitches(of record: inout AppRecord, now: Int64) throws(RegistryError) -> [HistoryEvent] {
        var events: [HistoryEvent] = []
        if let check, check != record.check {
            let details = [("from", record.check.rawValue), ("to", check.rawValue)]
            events.append(HistoryEvent("check_changed", details.map { ($0.0, .string($0.1)) }))
            record.check = check
        }
        if let developmentBuilds, developmentBuilds != record.allowsDevelopmentBuilds {
            events.append(HistoryEvent("development_builds_changed", [("allowed", .bool(developmentBuilds))]))
            record.allowsDevelopmentBuilds = developmentBuilds
        }
        if let androidDegraded, androidDegraded != record.androidDegraded {
            let details = [("from", record.androidDegraded.rawValue), ("to", androidDegraded.rawValue)]
            events.append(HistoryEvent("android_degraded_changed", details.map { ($0.0, .string($0.1)) }))
            record.androidDegraded = androidDegraded
        }
        if let production, production != record.isProduction {
            if production, let until = record.developmentUntil, until > now {
                events.append(HistoryEvent("development_mode_disabled", [("reason", .string("production"))]))
            }
            if production {
                record.developmentUntil = nil
                record.labTrust = nil
            }
            record.isProduction = production
            events.append(HistoryEvent(production ? "production_marked" : "production_unmarked"))
        }
        if let isEnabled, isEnabled != record.isEnabled {
            record.isEnabled = isEnabled
            events.append(HistoryEvent(isEnabled ? "app_enabled" : "app_disabled"))
        }
        return events
    }

    private static func bring(_ list: inout [String], to wanted: [String], _ word: String) -> [HistoryEvent] {
        let removed = list.filter { !wanted.contains($0) }
        let added = wanted.filter { !list.contains($0) }
        list = wanted
        return removed.map { HistoryEvent("\(word)_removed", [(word, .string($0))]) }
            + added.map { HistoryEvent("\(word)_added", [(word, .string($0))]) }
    }

    private static func bring(_ list: inout [IOSIdentity], to wanted: [IOSIdentity]) -> [HistoryEvent] {
        let removed = list.filter { !wanted.contains($0) }
        let added = wanted.filter { !list.contains($0) }
        list = wanted
        func event(_ name: String, _ identity: IOSIdentity) -> HistoryEvent {
            HistoryEvent(name, [("bundle_id", .string(identity.bundleID)), ("team_id", .string(identity.teamID))])
        }
        return removed.map { event("native_ios_removed", $0) } + added.map { event("native_ios_added", $0) }
    }

    private static func bring(_ list: inout [AndroidIdentity], to wanted: [AndroidIdentity]) -> [HistoryEvent] {
        func event(_ name: String, _ package: String, _ prints: [String]) -> [HistoryEvent] {
            prints.isEmpty ? [] : [HistoryEvent(name, [("package", .string(package)), ("sha256", .texts(prints))])]
        }
        var events: [HistoryEvent] = []
        for old in list {
            let kept = wanted.first { $0.package == old.package }?.sha256 ?? []
            events += event("native_android_removed", old.package, old.sha256.filter { !kept.contains($0) })
        }
        for new in wanted {
            let known = list.first { $0.package == new.package }?.sha256 ?? []
            events += event("native_android_added", new.package, new.sha256.filter { !known.contains($0) })
        }
        list = wanted
        return events
    }
}
