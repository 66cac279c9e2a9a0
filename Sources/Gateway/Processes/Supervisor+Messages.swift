// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Encodings
import Telemetry

extension Supervisor {
    /// Reads what a child has said.
    func hear(_ index: Int) {
        for message in children[index].channel.receive() { heard(message, from: index) }
    }

    private func heard(_ message: ProcessMessage, from index: Int) {
        switch message {
        case .serving:
            let isBack = children[index].hasServed
            children[index].state = .serving
            children[index].hasServed = true
            children[index].isWaiting = false
            if children[index].failedStarts > 0 {
                children[index].failedStarts = 0
                metrics.childrenUnable.set(children.filter { $0.failedStarts > 0 }.count)
                log.info("a child has started at last", ["role": children[index].role.name])
            }
            settleSockets()
            countServing()
            guard children[index].role == .control else { return }
            // It may have died between keeping a new text and having it taken: all run what is kept.
            if isBack { tellWorkers(ProcessMessage.unnumbered) }
            if owesCheck { checkConfiguration() }
        case .waiting:
            children[index].isWaiting = true
            log.warning("a worker cannot judge yet", ["role": children[index].role.name])
            letWaitingAccept()
        case .redisAnswers:
            for index in children.indices where children[index].role == .redis { children[index].answers &+= 1 }
        case .takeConfiguration(let number):
            lastReload = number
            tellWorkers(number)
        case .took(let number, let fault):
            guard case .worker(let worker) = children[index].role else { return }
            sendToControl(.workerTook(worker: worker, number, fault: fault))
        case .wantKeys:
            sendToControl(message)
        case .askProcesses:
            send(.processes(processesText()), to: children[index])
        case .checkConfiguration, .reload, .drain, .adopt, .release, .acceptAnyway, .reopenLogs, .workerTook,
            .processes:
            break
        }
    }

    /// Has all workers take the text that is kept.
    private func tellWorkers(_ number: Int) {
        for child in children where child.isWorker {
            if child.isAlive { send(.reload(number), to: child) } else { tellTaken(by: child) }
        }
        // What kept a worker from starting may be mended now.
        for index in children.indices where children[index].state == .away && children[index].failedStarts > 0 {
            children[index].startAt = ContinuousClock.now
        }
    }

    /// A worker that is started again reads the text that is kept by itself: nobody needs to wait for it.
    func tellTaken(by child: SupervisedChild) {
        guard case .worker(let worker) = child.role else { return }
        sendToControl(.workerTook(worker: worker, lastReload, fault: nil))
    }

    func send(_ message: ProcessMessage, to child: SupervisedChild) {
        child.channel.send(message)
    }

    func sendToControl(_ message: ProcessMessage) {
        for child in children where child.role == .control { send(message, to: child) }
    }

    func countServing() {
        let workers = children.filter(\.isWorker)
        let serving = workers.filter(\.isWell).count
        metrics.workersServing.set(serving)
        guard serving == workers.count, !hasSaidReady else { return }
        hasSaidReady = true
        Places.letGo()
        log.info("ready", ["listeners": plan.listeners.map(\.text).joined(separator: " "), "workers": "\(serving)"])
        ServiceNotification.send("READY=1", environment: environment)
    }

    private func processesText() -> String {
        var writer = JSONWriter()
        writer.beginArray()
        for child in children {
            writer.beginObject()
            writer.member("name", child.role.name)
            writer.member("pid", Int(child.pid))
            writer.member(
                "state",
                child.isLate ? "late" : child.failedStarts > 0 ? "cannot start" : child.state.rawValue
            )
            writer.member("restarts", child.restarts)
            writer.endObject()
        }
        writer.endArray()
        return writer.text
    }
}
