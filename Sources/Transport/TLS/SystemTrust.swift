// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import COpenSSL

/// The authorities that the system trusts, read once for all contexts: that takes some 20 ms.
@safe
final class SystemTrust: Sendable {
    // Reference-counted and locked by the library itself; freed with this object, contexts
    // hold references of their own.
    private nonisolated(unsafe) let store: OpaquePointer

    @Reactor private static var current: SystemTrust?

    /// Reads the system's files; nil where that fails.
    private init?() {
        guard let store = unsafe X509_STORE_new() else { return nil }
        unsafe self.store = store
        let isRead = unsafe X509_STORE_set_default_paths(store) == 1
        // What single files hold that is no certificate is nobody's fault here.
        ERR_clear_error()
        if !isRead { return nil }
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    /// Has `context` trust them; false where they cannot be read.
    @Reactor
    static func install(in context: OpaquePointer) -> Bool {
        if current == nil { current = SystemTrust() }
        guard let current else { return false }
        unsafe SSL_CTX_set1_cert_store(context, current.store)
        return true
    }

    /// Reads them anew on `pool`, for contexts that are made from then on; where that fails the old ones stay.
    @Reactor
    static func refresh(on pool: BlockingPool) async {
        guard current != nil else { return }
        current = await pool.run { SystemTrust() } ?? current
    }
}

extension TLSClientContext {
    /// Reads the system's authorities anew, for contexts that are made from then on; the loop goes on meanwhile.
    package static func refreshSystemTrust(on pool: BlockingPool) async {
        await SystemTrust.refresh(on: pool)
    }
}
