// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry
import Transport

/// The child with the worker role.
enum WorkerProcess {
    static func run(_ order: ChildOrder, index: Int, environment: [String: String]) throws(ProcessFault) -> Int32 {
        let paths = StatePaths(directory: order.stateDirectory)
        let slot: MetricsSlot
        do {
            slot = try MetricsSlot(path: paths.worker(index))
        } catch {
            throw ProcessFault(error.description)
        }
        let accepted = AcceptedConfiguration(paths: paths, path: order.configuration, environment: environment)
        let configuration = try accepted.load()
        let level = configuration.log.level.minimum
        let setting = WorkerRole.Setting(
            index: index,
            configuration: configuration,
            accepted: accepted,
            listeners: order.listeners,
            paths: paths,
            slot: slot,
            log: Log(format: LogFormat.chosen(environment), role: "worker \(index)", minimum: level)
        )
        Reactor.installGlobalHook()
        var fault: ProcessFault?
        Reactor.run { loop in
            do throws(ProcessFault) {
                let receiver = MessageReceiver()
                let link = SupervisorStream(loop: loop, descriptor: order.channel) { receiver.hear($0) }
                let role = try WorkerRole(setting, loop: loop, link: link) { loop.stop() }
                receiver.hear = { role.heard($0) }
                link.start()
                role.start()
            } catch {
                fault = error
                loop.stop()
            }
        }
        if let fault { throw fault }
        return 0
    }
}
