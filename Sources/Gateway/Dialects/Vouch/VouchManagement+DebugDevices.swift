// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Transport

extension VouchManagement {
    @Reactor
    static func addDebugDevice(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) -> LocalAnswer {
        let body = try form(request, caller.app)
        let device = try reading(caller.app) { () throws(VouchFault) in try body.deviceID("device_id") }
        try await spend(request, caller, worker)
        let change = DebugDeviceChange(registry: worker.state.registry)
        let (record, confirmation) = try await registered { () async throws(RegistryError) in
            try await change.add(device, to: .record(caller.app.recordID), by: caller.name, now: request.now)
        }
        return .json(confirmation == nil ? 200 : 201, Self.body(of: record, confirmation))
    }

    @Reactor
    static func listDebugDevices(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) -> LocalAnswer {
        let devices = caller.app.record.vouchSettings.debugDevices
        return list("debug_devices", devices.map { ($0.id, "created_at", $0.createdAt) })
    }

    @Reactor
    static func removeDebugDevice(
        _ request: LocalRequest,
        _ caller: VouchCaller,
        _ worker: Worker
    ) async throws(VouchCall) -> LocalAnswer {
        try await spend(request, caller, worker)
        let device = request.parameters["device"] ?? ""
        let change = DebugDeviceChange(registry: worker.state.registry)
        let confirmation = try await registered { () async throws(RegistryError) in
            try await change.remove(device, from: .record(caller.app.recordID), by: caller.name)
        }
        guard let confirmation else { throw .outcome(.vouchNotFound(app: caller.app)) }
        if case .pending = confirmation {
            // RFC 9110 15.3.3: taken, and not yet in force everywhere.
            return .json(202, body(device, confirmation))
        }
        return LocalAnswer(status: 204, fields: [HeaderField(name: "cache-control", value: "no-store")])
    }

    private static func body(of device: DebugDeviceRecord, _ change: Confirmation?) -> [UInt8] {
        body(device.id, change) { $0.member("created_at", InternetTime.text(seconds: device.createdAt / 1_000)) }
    }
}
