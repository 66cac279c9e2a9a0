// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Reads a PEM file of the configuration.
enum PEMFile {
    static func read(_ path: String) throws(SnapshotProblem) -> [UInt8] {
        switch Files.read(path, limit: 1 << 20) {
        case .success(let bytes): return bytes
        case .failure(let fault): throw SnapshotProblem(message: "\(path): \(fault)")
        }
    }
}

/// Reads the files of a listener's TLS.
@Reactor
enum ListenerTLS {
    /// The context of a listener; every fault names its file.
    static func context(for settings: TLSSettings, tickets: TicketKeys?) throws(SnapshotProblem) -> TLSServerContext {
        var identities: [TLSServerSettings.Identity] = []
        for pair in settings.certificates {
            identities.append(
                TLSServerSettings.Identity(
                    name: pair.certificate,
                    chainPEM: try PEMFile.read(pair.certificate),
                    keyPEM: try PEMFile.read(pair.key)
                )
            )
        }
        var server = TLSServerSettings(
            identities: identities,
            defaultIdentity: settings.fallback.map { settings.certificates[$0].certificate }
        )
        server.applicationProtocols = settings.protocols.map(\.rawValue)
        do throws(TLSFailure) {
            return try TLSServerContext(server, ticketKeys: settings.tickets ? tickets : nil)
        } catch {
            throw SnapshotProblem(message: "TLS of \(settings.certificates.map(\.certificate)): \(error)")
        }
    }
}
