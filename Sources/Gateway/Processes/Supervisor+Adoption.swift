// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry

extension SupervisedChild {
    var isWorker: Bool {
        if case .worker = role { return true }
        return false
    }
}

extension Supervisor {
    /// Has a living worker accept from the sockets of one that is started again only later: what queues there would
    /// else wait for the whole delay.
    func lendSockets(of index: Int) {
        guard case .worker(let away) = children[index].role else { return }
        // Nobody stands in for two while another stands in for none.
        let busy = Set(children.compactMap(\.standIn))
        let living = children.filter { $0.isWorker && $0.state == .serving }
        let chosen = living.first { !busy.contains(Self.number($0)) } ?? living.first
        guard let chosen else { return }
        children[index].standIn = Self.number(chosen)
        send(.adopt(away), to: chosen)
        log.info("sockets lent", ["of": "worker \(away)", "to": chosen.role.name])
    }

    /// Ends the standing in for a worker that serves again, and has it told what it stands in for itself.
    func returnSockets(of index: Int) {
        guard case .worker(let back) = children[index].role else { return }
        if let standIn = children[index].standIn {
            children[index].standIn = nil
            for child in children where child.isWorker && Self.number(child) == standIn {
                send(.release(back), to: child)
            }
        }
        // A stand-in that died and came back has forgotten whose sockets it held.
        for child in children where child.standIn == back && child.state == .away {
            send(.adopt(Self.number(child)), to: children[index])
        }
    }

    private static func number(_ child: SupervisedChild) -> Int {
        guard case .worker(let index) = child.role else { return -1 }
        return index
    }
}
