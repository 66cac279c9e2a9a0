// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Crypto
import Transport

/// Reads a PEM file of the configuration.
enum PEMFile {
    /// No chain, and no list of all the world's authorities, is longer than this.
    static let limit = 1 << 20

    static func read(_ path: String) throws(SnapshotProblem) -> [UInt8] {
        switch Files.read(path, limit: limit) {
        case .success(let bytes): return bytes
        case .failure(let fault): throw SnapshotProblem(message: "cannot read \(path): \(fault.message)")
        }
    }

    /// One that holds a key: no other copy of it stays in memory.
    static func readKey(_ path: String) throws(SnapshotProblem) -> SecretBytes {
        switch Files.readSecret(path, limit: limit) {
        case .success(let bytes): return bytes
        case .failure(let fault): throw SnapshotProblem(message: "cannot read \(path): \(fault.message)")
        }
    }
}

/// The TLS of a listener, and what it was made of.
struct ListenerTLS {
    let context: TLSServerContext
    /// Of all files and settings behind it: the same ones need no other context.
    let digest: [UInt8]
}

/// Reads the files of a listener's TLS; every fault names its file.
@Reactor
extension ListenerTLS {
    /// Those of all listeners, at once; nil for clear text.
    static func all(of settings: Configuration, _ tickets: TicketKeys) throws(SnapshotProblem) -> [ListenerTLS?] {
        var made: [ListenerTLS?] = []
        for tls in settings.listenersTLS {
            made.append(
                try tls.map { tls throws(SnapshotProblem) in
                    let files = try Files(tls)
                    return ListenerTLS(context: try context(files, tls, tickets), digest: files.digest)
                }
            )
        }
        return made
    }

    /// The context of one listener.
    static func context(for settings: TLSSettings, tickets: TicketKeys?) throws(SnapshotProblem) -> TLSServerContext {
        try context(Files(settings), settings, tickets)
    }

    /// Those of all listeners while the loop goes on: files are read on `pool`, each certificate has a turn of its own,
    /// and where nothing has changed the old one stays.
    static func all(
        of settings: Configuration,
        replacing old: [ListenerTLS?],
        _ tickets: TicketKeys,
        on loop: EventLoop,
        _ pool: BlockingPool
    ) async throws(SnapshotProblem) -> [ListenerTLS?] {
        var made: [ListenerTLS?] = []
        for tls in settings.listenersTLS {
            guard let tls else {
                made.append(nil)
                continue
            }
            let files = try await pool.run { () throws(SnapshotProblem) in try Files(tls) }
            if let same = old.first(where: { $0?.digest == files.digest }) {
                made.append(same)
                continue
            }
            do throws(TLSFailure) {
                let ticketKeys = tls.tickets ? tickets : nil
                let context = try await TLSServerContext(files.settings, ticketKeys: ticketKeys) {
                    await loop.nextTurn()
                }
                made.append(ListenerTLS(context: context, digest: files.digest))
            } catch {
                throw problem(tls, error)
            }
        }
        return made
    }

    private static func context(
        _ files: Files,
        _ settings: TLSSettings,
        _ tickets: TicketKeys?
    ) throws(SnapshotProblem) -> TLSServerContext {
        do throws(TLSFailure) {
            return try TLSServerContext(files.settings, ticketKeys: settings.tickets ? tickets : nil)
        } catch {
            throw problem(settings, error)
        }
    }

    private static func problem(_ settings: TLSSettings, _ failure: TLSFailure) -> SnapshotProblem {
        SnapshotProblem(message: "TLS of \(settings.certificates.map(\.certificate)): \(failure)")
    }

    /// What the files of a listener hold.
    private struct Files: Sendable {
        let settings: TLSServerSettings
        let digest: [UInt8]

        nonisolated init(_ listener: TLSSettings) throws(SnapshotProblem) {
            var identities: [TLSServerSettings.Identity] = []
            for pair in listener.certificates {
                identities.append(
                    TLSServerSettings.Identity(
                        name: pair.certificate,
                        chainPEM: try PEMFile.read(pair.certificate),
                        keyPEM: try PEMFile.readKey(pair.key)
                    )
                )
            }
            var server = TLSServerSettings(
                identities: identities,
                defaultIdentity: listener.fallback.map { listener.certificates[$0].certificate }
            )
            server.applicationProtocols = listener.protocols.map(\.rawValue)
            settings = server
            digest = Self.digest(server, tickets: listener.tickets)
        }

        /// Of all that decides about a context, each part behind its length.
        private nonisolated static func digest(_ server: TLSServerSettings, tickets: Bool) -> [UInt8] {
            let hash = SHA256()
            func add(_ part: Span<UInt8>) {
                hash.update(Array("\(part.count):".utf8).span)
                hash.update(part)
            }
            for identity in server.identities {
                add(identity.name.utf8.span)
                add(identity.chainPEM.span)
                identity.keyPEM.withBytes { add($0) }
            }
            add((server.defaultIdentity ?? "").utf8.span)
            for name in server.applicationProtocols { add(name.utf8.span) }
            add("\(server.minimumVersion) \(tickets)".utf8.span)
            return hash.finish().bytes
        }
    }
}

extension Configuration {
    /// What the listeners say of TLS, in their order.
    fileprivate var listenersTLS: [TLSSettings?] {
        listeners.map { listener in
            guard case .tls(let tls) = listener.traffic else { return nil }
            return tls
        }
    }
}
