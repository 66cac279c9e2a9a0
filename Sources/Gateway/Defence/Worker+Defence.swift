// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Transport

extension Worker {
    /// The defence that keeps every new connection out at present, whoever makes it.
    var closedDoor: Defence? {
        if memory.level >= .refusesConnections { return .memoryConnection }
        return hasRoom ? nil : .connectionsPerWorker
    }

    /// A connection did too much of something and is cut: few more of its client's are to come.
    func flooded(_ flood: HTTP2Flood, by facts: ClientConnectionFacts) {
        defences.note(Defence(flood), client: facts.peerText)
        guard !facts.isTrustedProxy else { return }
        admission.flooded(facts.peer, snapshot.settings.connections, now: loop.now)
    }

    /// Lets connections that keep the loop busy wait behind the others, and names them.
    func shareTurns() {
        loop.busyShare = snapshot.settings.connections.busyShare
        loop.onBusy = { [unowned self] stream in
            guard let connection = stream.owner as? any ClientConnection else { return }
            defences.note(.busyConnection, client: connection.facts.peerText)
        }
    }

    /// Watches this process's memory against the budget of the present configuration.
    func watchMemory() {
        memory.onPressure = { [unowned self] _ in closeIdleConnections() }
        memory.watch(budget: memoryBudget)
    }

    private var memoryBudget: Int {
        if let configured = snapshot.settings.memory.perWorker { return configured.bytes }
        let workers = max(1, environment.listeners.first?.descriptors.count ?? 1)
        return (ProcessMemory.available() ?? .max) / 2 / workers
    }

    /// Closes connections that carry nothing: an eighth of them at once, so that all are gone within a second or two.
    private func closeIdleConnections() {
        var left = max(64, connections.count / 8)
        for connection in connections.values {
            guard left > 0 else { return }
            guard connection.closeIfIdle() else { continue }
            left -= 1
            defences.note(.memoryIdle, client: connection.facts.peerText)
        }
    }
}
