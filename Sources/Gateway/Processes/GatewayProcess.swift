// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc
import Telemetry

/// The ways a process of this program begins and ends.
package enum GatewayProcess {
    /// The environment as it was at start.
    package static var environment: [String: String] {
        var variables: [String: String] = [:]
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let text = unsafe String(cString: entry)
            if let cut = text.firstIndex(of: "=") {
                variables[String(text[..<cut])] = String(text[text.index(after: cut)...])
            }
            unsafe next = unsafe next.advanced(by: 1)
        }
        return variables
    }

    /// Ends the process.
    package static func end(_ code: Int32) -> Never {
        exit(code)
    }

    /// Runs the gateway until it has stopped; the fault that kept it from starting, if one did.
    package static func run(_ start: GatewayStart, environment: [String: String]) -> ProcessFault? {
        do {
            let plan = try SupervisorPlan(start, environment: environment)
            raiseDescriptorLimit()
            ProcessName.set("sallyport")
            if start.isSingle {
                try SingleProcess.run(plan, start.configuration, environment)
                return nil
            }
            let code = try Supervisor(plan, start.configuration, environment: environment).run()
            guard code == 0 else { return ProcessFault("the gateway did not start; see above") }
            return nil
        } catch {
            return error
        }
    }

    /// Runs the role that a supervisor ordered; nil when this process is nobody's child.
    package static func runChild(_ environment: [String: String]) -> Int32? {
        guard let text = environment[ChildOrder.variable] else { return nil }
        let log = Log(format: LogFormat.chosen(environment), role: "child")
        guard let order = ChildOrder(parsing: text) else {
            log.error("the order in \(ChildOrder.variable) is damaged")
            return ChildEnd.misconfigured
        }
        SignalPipe.ignoreInChild()
        ProcessName.set("sallyport: \(order.role.name)")
        do {
            if let name = order.account { try Account(named: name).become() }
            var environment = environment
            environment[ChildOrder.variable] = nil
            return try run(order, environment: environment)
        } catch {
            Log(format: log.format, role: order.role.name).error(error.message)
            for step in error.nextSteps { Log(format: log.format, role: order.role.name).error("try: \(step)") }
            return ChildEnd.misconfigured
        }
    }

    private static func run(_ order: ChildOrder, environment: [String: String]) throws(ProcessFault) -> Int32 {
        switch order.role {
        case .worker(let index): return try WorkerProcess.run(order, index: index, environment: environment)
        case .control: return try ControlProcess.run(order, environment: environment)
        case .redis: try RedisProcess.become(order, environment: environment)
        }
    }

    /// A gateway holds two descriptors for each request under way; the soft limit of a shell is 1024.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// The name that `ps` and `top` show for a process.
enum ProcessName {
    /// Sets the short name, 15 bytes; the long one is the first argument.
    static func set(_ name: String) {
        let descriptor = unsafe open("/proc/self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let short = Array(name.replacingPrefix("sallyport: ", with: "sp ").utf8.prefix(15))
        _ = unsafe write(descriptor, short, short.count)
    }
}

extension String {
    fileprivate func replacingPrefix(_ prefix: String, with other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}
