// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import Store

/// Finds the app that a request to an endpoint of the gateway's own names.
extension WorkerState {
    /// The app of an App ID.
    func app(id: String) async -> AppFinding {
        if case .known(let app) = directory.app(id: id.utf8.span) { return .found(app) }
        return AppFinding(await directory.load(id: id))
    }

    /// The app of an organization by its username there, or by its record id.
    func app(organization: String, name: String) async -> AppFinding {
        if case .known(let app) = directory.app(organization: organization.utf8.span, name: name.utf8.span) {
            return .found(app)
        }
        return AppFinding(await directory.load(organization: organization, name: name))
    }
}

extension AppFinding {
    /// What a look-up in the directory says; a record that does not compile is known to nobody.
    init(_ lookup: AppLookup) {
        switch lookup {
        case .known(let app): self = .found(app)
        case .unknown, .broken: self = .unknown
        case .unresolved, .unavailable: self = .unavailable
        }
    }
}
