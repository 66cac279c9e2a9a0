// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Testing

@testable import Gateway

@Suite struct ChildOrderTests {
    @Test func `what is written is read again`() {
        let order = ChildOrder(
            role: .worker(3),
            supervisor: 12,
            configuration: "/etc/a \"b\".yaml",
            workers: 4,
            stateDirectory: "/var/lib/x",
            account: "nobody",
            listeners: [ListenerSockets(address: "[::]:443", descriptors: [100, 101])],
            channel: 105
        )
        #expect(ChildOrder(parsing: order.text) == order)
    }

    @Test(arguments: ["", "{}", "{\"worker\":0}", "[1]", "worker"])
    func `anything else is no order`(text: String) {
        #expect(ChildOrder(parsing: text) == nil)
    }
}

@Suite struct ProcessMessageTests {
    @Test(
        arguments: [
            .serving, .waiting, .redisAnswers, .acceptAnyway, .takeConfiguration(7), .took(7, fault: nil),
            .took(8, fault: "line 3: no"), .askProcesses,
            .checkConfiguration, .reload(7), .drain(milliseconds: 30_000), .adopt(1), .release(1), .reopenLogs,
            .workerTook(worker: 1, 7, fault: nil), .workerTook(worker: 0, 7, fault: "a b"), .processes("[{\"a\": 1}]"),
        ] as [ProcessMessage]
    )
    func `what is written is read again`(message: ProcessMessage) {
        #expect(ProcessMessage(parsing: message.text) == message)
    }

    @Test(arguments: ["", "nonsense", "adopt", "adopt x", "worker-took 1", "took"])
    func `an unknown packet is none`(text: String) {
        #expect(ProcessMessage(parsing: text) == nil)
    }
}

@Suite struct RestartPolicyTests {
    @Test func `a child that lived is started at once, one that keeps dying young waits ever longer`() {
        var policy = RestartPolicy()
        #expect(policy.died(after: .seconds(60)) == .zero)
        let delays = (0..<8).map { _ in policy.died(after: .milliseconds(5)) }
        #expect(delays.prefix(2).allSatisfy { $0 == .zero })
        #expect(delays == delays.sorted())
        #expect(delays.last == .seconds(5))
        #expect(policy.died(after: .seconds(60)) == .zero)
        #expect(policy.died(after: .milliseconds(5)) == .zero)
    }
}
