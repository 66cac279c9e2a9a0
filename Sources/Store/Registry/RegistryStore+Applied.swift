// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Whether a change is in force everywhere.
package enum Confirmation: Sendable, Equatable {
    /// Every live worker has applied it.
    case confirmed
    /// Some have not; the change is in force at `effectiveBy` (milliseconds since 1970) at the latest.
    case pending(effectiveBy: Int64, waitingFor: [String])
}

extension RegistryStore {
    /// Waits until every live worker has applied change `sequence`, for `timeout` at most.
    package func waitApplied(sequence: Int, timeout: Duration) async throws(RegistryError) -> Confirmation {
        let end = loop.now.advanced(by: timeout)
        var pause = Duration.milliseconds(2)
        while true {
            let state = try await workersBehind(sequence)
            if state == .confirmed { return state }
            if loop.now >= end { return state }
            do throws(CancellationError) {
                try await loop.sleep(for: pause)
            } catch {
                return state
            }
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    private func workersBehind(_ sequence: Int) async throws(RegistryError) -> Confirmation {
        let epoch: String
        do throws(StoreError) {
            epoch = try await connection.epoch()
        } catch {
            throw .store(error)
        }
        let reply = try await evaluate(RegistryScripts.waiting, [.number(sequence), .text(epoch), .text(registryName)])
        guard let parts = reply.elements, parts.count % 2 == 1 else { throw .store(.malformed("leases")) }
        var names: [String] = []
        var latest: Int64 = 0
        for index in stride(from: 1, to: parts.count, by: 2) {
            guard let name = parts[index].text, let expiry = parts[index + 1].integer else {
                throw .store(.malformed("leases"))
            }
            names.append(name)
            latest = max(latest, expiry)
        }
        return names.isEmpty ? .confirmed : .pending(effectiveBy: latest, waitingFor: names)
    }
}
