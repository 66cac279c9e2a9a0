// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Encodings
import Store
import Transport

/// Ends a device's access at once: its run tokens everywhere, and its remembered verdict (VCH-033).
///
/// Isolated to the Reactor.
@Reactor
struct DeviceRevocation {
    let registry: RegistryStore
    let tokens: RunTokenStore

    /// What became of it.
    struct Outcome: Sendable {
        let count: Int
        let confirmation: Confirmation
    }

    /// Revokes the device; nil: no such device was ever seen by a key of this kind.
    func run(
        _ device: String,
        isLive: Bool,
        of app: AppRecord,
        by: String
    ) async throws(RegistryError) -> Outcome? {
        let ended: (count: Int, at: Int64)?
        do {
            ended = try await tokens.revoke(device: device, isLive: isLive, of: app.recordID)
        } catch {
            throw .store(error)
        }
        guard let ended else { return nil }
        // One more than the moment: what was issued in it was ended too, and whoever attests later starts anew.
        let mark = Revocation.Mark(
            subject: .device(app.recordID, RunTokenRecord.watermark(device, isLive: isLive)),
            notBefore: ended.at + 1,
            expiresAt: ended.at + (VouchSettings.longestRunToken + 60) * 1_000
        )
        let details: [(name: String, value: JSONValue)] = [
            ("device_id", .string(device)), ("kind", .string(isLive ? "live" : "test")),
            ("revoked", .number(JSONNumber(ended.count))),
        ]
        let sequence = try await registry.revoke(
            Revocation(marks: [mark]),
            app: app.recordID,
            organization: app.organization,
            by: by,
            events: [HistoryEvent("device_revoked", details)]
        )
        return Outcome(
            count: ended.count,
            confirmation: try await registry.waitApplied(sequence: sequence, timeout: ConfirmationWait.time)
        )
    }
}
