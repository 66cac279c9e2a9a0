// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Transport

/// Breaks the circle between the role and its routes.
@Reactor
final class ControlBridge: GatewayControl {
    weak var role: ControlRole?

    func reload() async -> ReloadOutcome { await role?.reload() ?? .refused(["control is ending"]) }
    func processes() async -> [ProcessStatus]? { await role?.processes() }
    func unreadyReasons() -> [String] { role?.unreadyReasons() ?? ["control is ending"] }
    var warnings: [String] { role?.warnings ?? [] }
    var trustStatus: JSONValue { role?.trustStatus ?? .null }

    var configurationStatus: ConfigurationStatus {
        role?.configurationStatus ?? ConfigurationStatus(path: "", redis: "", startedAt: 0, takenAt: 0)
    }
}
