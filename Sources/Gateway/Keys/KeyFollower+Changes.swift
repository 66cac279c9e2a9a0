// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Store

extension KeyFollower: ChangeSubscriber {
    package func apply(_ change: RegistryNotice) -> Bool {
        switch change.kind {
        case .signing: return true
        case .keyring:
            // At once, before the change is acknowledged: a key hashed with the next pepper may come right after it.
            readMaterial()
            return true
        case .issuer: return settings.contains { $0.name == change.id }
        case .app, .organization, .revocation, .adminTokens: return false
        }
    }

    /// Nothing: what is held stays in force until it was read again.
    package func dropEverything() {}

    package func reload(_ change: RegistryNotice) async {
        switch change.kind {
        case .signing: reader.read(.signing)
        case .keyring: reader.read(.keyring)
        case .issuer:
            guard let issuer = settings.first(where: { $0.name == change.id }), let url = issuer.keyAddress else {
                return
            }
            reader.read(.issuer(issuer.name, url))
        case .app, .organization, .revocation, .adminTokens: break
        }
    }

    package func restore(from connection: RedisConnection) async throws(StoreError) {
        reader.forget()
        var wanted: [KeyReader.Subject] = [.keyring, .signing]
        for issuer in settings { if let url = issuer.keyAddress { wanted.append(.issuer(issuer.name, url)) } }
        for subject in wanted {
            if let value = try await KeyReader.value(of: subject, from: connection, log: log) { await take(value) }
        }
    }
}
