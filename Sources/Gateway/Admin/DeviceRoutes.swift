// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Attestation
import Credentials
import Encodings
import Store

/// The installs of an app, by the keys that they registered.
extension AdminRoutes {
    static let deviceRoutes: [Route] = [
        Route("GET", "apps/*/devices") { routes, request async throws(AdminProblem) in
            try await routes.listDevices(request)
        },
        Route("POST", "apps/*/devices/*/block") { routes, request async throws(AdminProblem) in
            try await routes.block(true, request)
        },
        Route("POST", "apps/*/devices/*/unblock") { routes, request async throws(AdminProblem) in
            try await routes.block(false, request)
        },
    ]

    private func listDevices(_ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        var devices: [JSONValue] = []
        for dialect in record.dialects {
            let rows = try await stored { () async throws(StoreError) in
                try await registry.deviceKeys.newest(100, of: record.recordID, in: dialect)
            }
            devices += rows.map { describe($0, record, dialect) }
        }
        return AdminAnswer(.object([("devices", .array(devices))]))
    }

    private func describe(_ row: DeviceKeyRow, _ record: AppRecord, _ dialect: Dialect) -> JSONValue {
        .object([
            ("id", .string(Hex.encode(row.key.keyID))), ("name", .string("\(record.name) on iOS (App Attest)")),
            ("dialect", .string(dialect.rawValue)), ("environment", .string(row.key.environment.rawValue)),
            ("blocked", .bool(row.key.isBlocked)), ("registered_at", .string(text(row.registeredAt))),
            ("seen_at", .string(text(row.seenAt))),
        ])
    }

    /// Its next sign-in is refused; the token that it holds lives out its hour (APP-092).
    private func block(_ blocks: Bool, _ request: AdminRequest) async throws(AdminProblem) -> AdminAnswer {
        let record = try await app(request.path[1])
        let id: [UInt8]
        do {
            id = try Hex.decode(request.path[3])
        } catch {
            throw .badRequest("a device's id is 64 hexadecimal digits: sallyport devices list")
        }
        var isKnown = false
        var isChanged = false
        for dialect in record.dialects {
            let changed = try await stored { () async throws(StoreError) in
                try await registry.deviceKeys.setBlocked(blocks, id, of: record.recordID, in: dialect)
            }
            if let changed {
                isKnown = true
                isChanged = isChanged || changed
            }
        }
        guard isKnown else {
            throw .notFound("the app has no device \(request.path[3])", nextSteps: ["sallyport devices list"])
        }
        if isChanged {
            let event = HistoryEvent(
                blocks ? "device_blocked" : "device_unblocked",
                [("device", .string(request.path[3]))]
            )
            try await registryCall { () async throws(RegistryError) in
                try await registry.note([event], of: record.recordID, by: request.by)
            }
        }
        let verb = blocks ? "is blocked; its next sign-in is refused" : "may sign in again"
        return AdminAnswer(
            .object([
                ("message", .string("device \(request.path[3]) \(verb)")), ("id", .string(request.path[3])),
                ("blocked", .bool(blocks)), ("changed", .bool(isChanged)), ("confirmed", .bool(true)),
            ])
        )
    }
}
