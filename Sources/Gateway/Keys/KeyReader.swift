// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Store
import Telemetry
import Transport

/// Reads shared keys that changed, one after the other, until each was read.
///
/// Isolated to the Reactor.
@Reactor
final class KeyReader {
    /// What can be read.
    enum Subject: Hashable {
        case keyring, signing
        /// An issuer by name, and the address that its set must be from.
        case issuer(String, String)
    }

    /// What was read.
    enum Value: Sendable {
        case keyring(KeyringDocument)
        case signing(SigningDocument)
        case issuer(String, SharedKeySet?)
    }

    private let connection: RedisConnection
    private let loop: EventLoop
    private let log: Log
    private let take: @Reactor (Value) async -> Void
    private var pending: [Subject] = []
    private var isReading = false
    /// Grows when everything was read by another way: an answer that was under way then is old.
    private var generation = 0

    private static let pause = Duration.milliseconds(100)

    init(connection: RedisConnection, loop: EventLoop, log: Log, take: @escaping @Reactor (Value) async -> Void) {
        self.connection = connection
        self.loop = loop
        self.log = log
        self.take = take
    }

    /// Has a subject read soon; again after every failure.
    func read(_ subject: Subject) {
        if !pending.contains(subject) { pending.append(subject) }
        guard !isReading else { return }
        isReading = true
        Task { @Reactor in await self.readPending() }
    }

    /// Forgets what is under way: everything is read now.
    func forget() {
        pending = []
        generation += 1
    }

    private func readPending() async {
        defer { isReading = false }
        while let subject = pending.first {
            pending.removeFirst()
            let asked = generation
            do throws(StoreError) {
                let value = try await Self.value(of: subject, from: connection, log: log)
                if asked == generation, let value { await take(value) }
            } catch {
                if asked == generation, !pending.contains(subject) { pending.append(subject) }
                do throws(CancellationError) { try await loop.sleep(for: Self.pause) } catch { return }
            }
        }
    }

    /// Reads one subject; nil where what is kept is damaged, which is logged.
    static func value(
        of subject: Subject,
        from connection: RedisConnection,
        log: Log
    ) async throws(StoreError) -> Value? {
        do throws(RegistryError) {
            switch subject {
            case .keyring:
                return .keyring(try await SharedKeys.document(KeyringDocument.self, from: connection).document)
            case .signing:
                return .signing(try await SharedKeys.document(SigningDocument.self, from: connection).document)
            case .issuer(let name, let source):
                return .issuer(name, try await SharedKeys.keySet(of: name, from: source, over: connection))
            }
        } catch {
            guard case .store(let fault) = error else {
                log.error("shared keys cannot be read", ["subject": "\(subject)", "reason": "\(error)"])
                return nil
            }
            throw fault
        }
    }
}
