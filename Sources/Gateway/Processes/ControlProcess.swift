// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Store
import Telemetry
import Transport

/// The child with the control role.
enum ControlProcess {
    static func run(_ order: ChildOrder, environment: [String: String]) throws(ProcessFault) -> Int32 {
        let paths = StatePaths(directory: order.stateDirectory)
        let accepted = AcceptedConfiguration(paths: paths, path: order.configuration, environment: environment)
        // The listeners' certificates are the workers' business: one that is missing now keeps no control away.
        let configuration = try accepted.load(check: { _ in nil })
        let level = configuration.log.level.minimum
        let log = Log(format: LogFormat.chosen(environment), role: "control", minimum: level)
        let endpoint = try RedisEndpoint.configured(configuration.state, paths)
        let slots: ControlSlots
        do {
            slots = try ControlSlots(paths, workers: order.workers)
        } catch {
            throw ProcessFault(error.description)
        }
        guard let admin = order.admin else { throw ProcessFault("control got no admin socket") }
        Reactor.installGlobalHook()
        var fault: ProcessFault?
        Reactor.run { loop in
            do throws(ProcessFault) {
                let receiver = MessageReceiver()
                let link = SupervisorStream(loop: loop, descriptor: order.channel) { receiver.hear($0) }
                let role = ControlRole(
                    configuration,
                    accepted: accepted,
                    workers: order.workers,
                    slots: slots,
                    endpoint: endpoint,
                    keys: try ControlKeys(paths, configuration.secrets),
                    trust: try .of(configuration.trust, paths, slot: slots.own, loop: loop, log: log),
                    link: link,
                    loop: loop,
                    log: log
                )
                receiver.hear = { role.heard($0) }
                link.start()
                try role.start(admin: admin, network: order.adminNetwork, metrics: order.metrics)
            } catch {
                fault = error
                loop.stop()
            }
        }
        if let fault { throw fault }
        return 0
    }
}

/// Lets a link be made before the role that hears it.
@Reactor
final class MessageReceiver {
    var hear: @Reactor (ProcessMessage) -> Void = { _ in }
}
