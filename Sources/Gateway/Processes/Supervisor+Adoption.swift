// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Telemetry

extension Supervisor {
    /// Has the sockets of each worker accepted from: by itself, or by a living one while it is away, starts or is late.
    ///
    /// The kernel spreads new connections over all sockets, and what queues on one would else wait for its worker.
    func settleSockets() {
        guard stopping == nil else { return }
        for index in children.indices {
            guard let worker = children[index].worker else { continue }
            let standIn = children[index].standIn
            if children[index].isWell {
                if standIn != nil { takeBack(index, worker) }
            } else if standIn == nil || !children.contains(where: { $0.worker == standIn && $0.isWell }) {
                if standIn != nil { takeBack(index, worker) }
                lend(index, worker)
            }
        }
    }

    private func lend(_ index: Int, _ worker: Int) {
        let living = children.filter { $0.isWorker && $0.isWell }
        let judging = living.filter(\.canJudge)
        // Nobody stands in for two while another stands in for none.
        let busy = Set(children.compactMap(\.standIn))
        let candidates = judging.isEmpty ? living : judging
        let free = candidates.first { child in child.worker.map { !busy.contains($0) } ?? false }
        guard let chosen = free ?? candidates.first else { return }
        children[index].standIn = chosen.worker
        send(.adopt(worker), to: chosen)
        if children[index].hasServed {
            log.info("sockets lent", ["of": children[index].role.name, "to": chosen.role.name])
        }
    }

    private func takeBack(_ index: Int, _ worker: Int) {
        for child in children where child.worker == children[index].standIn { send(.release(worker), to: child) }
        children[index].standIn = nil
    }

    /// A worker that died has forgotten whose sockets it held.
    func forgetStandIn(_ dead: Int) {
        guard let worker = children[dead].worker else { return }
        for index in children.indices where children[index].standIn == worker { children[index].standIn = nil }
    }

    /// A worker that cannot judge accepts only where no other can: a client is better served by one that can.
    func letWaitingAccept() {
        guard children.contains(where: \.isWaiting), !children.contains(where: \.canJudge) else { return }
        for index in children.indices where children[index].isWaiting {
            children[index].isWaiting = false
            send(.acceptAnyway, to: children[index])
        }
    }
}
