// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Glibc

enum WorkerProcess {
    static func run(_ order: ChildOrder, index: Int, environment: [String: String]) throws(ProcessFault) -> Int32 {
        ProcessChannel(descriptor: order.channel).send(.serving)
        while true { sleepForever(order.channel) }
    }
}
enum ControlProcess {
    static func run(_ order: ChildOrder, environment: [String: String]) throws(ProcessFault) -> Int32 {
        ProcessChannel(descriptor: order.channel).send(.serving)
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
    var c = ProcessChannel(descriptor: channel)
    while true {
        var p = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&p, 1, -1)
        if Int32(p.revents) & POLLHUP != 0 { exit(0) }
        let m = c.receive()
        for x in m { if case .drain = x { exit(0) } }
    }
}
