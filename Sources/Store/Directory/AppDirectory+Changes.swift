// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension AppDirectory: ChangeSubscriber {
    /// Forgets what the change touches; true where it was known and is worth loading again at once.
    package func apply(_ change: RegistryNotice) -> Bool {
        // Nothing of theirs is in an app's record.
        if [.revocation, .signing, .keyring, .issuer, .adminTokens].contains(change.kind) { return false }
        unknown.removeAll(keepingCapacity: true)
        for flight in flights.values {
            if change.kind == .app { flight.changed.insert(change.id) } else { flight.isOvertaken = true }
        }
        if !change.sites.isEmpty {
            for flight in siteFlights.values { flight.isOvertaken = true }
            for site in change.sites { sites[DirectoryName(.site, site).digest] = nil }
        }
        switch change.kind {
        case .revocation, .signing, .keyring, .issuer, .adminTokens: return false
        case .organization:
            for slot in apps.slots(of: change.id) { apps.remove(slot) }
            return false
        case .app:
            guard let slot = apps.find(.record, change.id.utf8.span) else { return false }
            apps.remove(slot)
            return true
        }
    }

    /// Forgets everything.
    package func dropEverything() {
        apps.removeAll()
        sites.removeAll(keepingCapacity: true)
        unknown.removeAll(keepingCapacity: true)
        for flight in flights.values { flight.isOvertaken = true }
        for flight in siteFlights.values { flight.isOvertaken = true }
    }

    /// Loads again what a change made us forget, so that the store may go away right after it.
    package func reload(_ change: RegistryNotice) async {
        _ = await load(record: change.id)
    }
}
