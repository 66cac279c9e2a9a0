// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

enum WorkerProcess {
    static func run(_ order: ChildOrder, index: Int, environment: [String: String]) throws(ProcessFault) -> Int32 {
        ProcessChannel.send(.serving, to: order.channel)
        while true { sleepForever(order.channel) }
    }
}
enum ControlProcess {
    static func run(_ order: ChildOrder, environment: [String: String]) throws(ProcessFault) -> Int32 {
        ProcessChannel.send(.serving, to: order.channel)
        while true { sleepForever(order.channel) }
    }
}
enum SingleProcess {
    static func run(
        _ plan: SupervisorPlan,
        _ configuration: Configuration,
        _ environment: [String: String]
    ) throws(ProcessFault) -> ProcessFault? { nil }
}
enum RedisProcess {
    static func become(_ order: ChildOrder) throws(ProcessFault) -> Never { sleepForever(order.channel) }
}
func sleepForever(_ channel: CInt) -> Never {
    while true {
        var p = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&p, 1, -1)
        let (m, open) = ProcessChannel.receive(from: channel)
        if !open { exit(0) }
        for x in m { if case .drain = x { exit(0) } }
    }
}
