// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Transport

/// Adds and removes development devices: in the registry, with history, waiting until it is in force everywhere.
///
/// Isolated to the Reactor.
@Reactor
struct DebugDeviceChange {
    let registry: RegistryStore

    /// More are not developers' devices any more.
    private static let most = 500

    /// Adds a device; nothing beside the record of one that was there.
    func add(
        _ device: String,
        to app: RegistryStore.AppReference,
        by: String,
        now: Int64
    ) async throws(RegistryError) -> (record: DebugDeviceRecord, change: Confirmation?) {
        let fresh = DebugDeviceRecord(id: device, createdAt: now)
        let outcome = try await registry.change(app: app, by: by) { record throws(RegistryError) in
            var settings = record.vouchSettings
            guard !settings.debugDevices.contains(where: { $0.id == device }) else { return [] }
            guard settings.debugDevices.count < Self.most else {
                throw .rejected(code: "too_many_devices", message: "an app has at most \(Self.most) debug devices")
            }
            settings.debugDevices.append(fresh)
            record.vouch = settings
            return [HistoryEvent("debug_device_added", [("device_id", .string(device))])]
        }
        let change = try await settle(outcome.sequence)
        let record = outcome.record.vouchSettings.debugDevices.first { $0.id == device }
        return (record ?? fresh, change)
    }

    /// Removes a device; nil where there was none.
    func remove(
        _ device: String,
        from app: RegistryStore.AppReference,
        by: String
    ) async throws(RegistryError) -> Confirmation? {
        let outcome = try await registry.change(app: app, by: by) { record throws(RegistryError) in
            var settings = record.vouchSettings
            guard settings.debugDevices.contains(where: { $0.id == device }) else { return [] }
            settings.debugDevices.removeAll { $0.id == device }
            record.vouch = settings
            return [HistoryEvent("debug_device_removed", [("device_id", .string(device))])]
        }
        return try await settle(outcome.sequence)
    }

    private func settle(_ sequence: Int?) async throws(RegistryError) -> Confirmation? {
        guard let sequence else { return nil }
        return try await registry.waitApplied(sequence: sequence, timeout: ConfirmationWait.time)
    }
}
