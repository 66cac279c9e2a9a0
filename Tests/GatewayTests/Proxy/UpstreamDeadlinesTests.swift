// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import HTTP
import Testing
import Transport

@testable import Gateway

@Suite struct UpstreamDeadlinesTests {
    static let times = UpstreamTimeoutSettings(
        connect: .seconds(1),
        firstByte: .seconds(30),
        idle: .seconds(60),
        total: .seconds(3600)
    )
    static let now = MonotonicInstant(nanoseconds: 1_000_000_000)
    static let far = now.advanced(by: .seconds(3600))
    static let near = now.advanced(by: .seconds(10))

    /// What has happened to a request.
    enum Event: Sendable {
        case sentPart, sentWhole, head, switched, paused, resumed
    }

    static func after(_ events: [Event]) -> UpstreamDeadlines {
        var deadlines = UpstreamDeadlines()
        for event in events {
            switch event {
            case .sentPart: deadlines.requestMoved(isWhole: false)
            case .sentWhole: deadlines.requestMoved(isWhole: true)
            case .head: deadlines.headArrived(isSwitch: false)
            case .switched: deadlines.headArrived(isSwitch: true)
            case .paused: deadlines.paused()
            case .resumed: deadlines.resumed()
            }
        }
        return deadlines
    }

    /// Events, the seconds after which something is armed where the whole exchange has long; nil:
    /// only its end; what it means.
    static let rows: [([Event], Int?, UpstreamFailure)] = [
        ([], nil, .totalTimedOut),
        ([.sentWhole], 30, .firstByteTimedOut),
        ([.sentPart], 60, .idleTimedOut),
        ([.sentPart, .sentPart, .sentWhole], 30, .firstByteTimedOut),
        ([.sentWhole, .head], 60, .idleTimedOut),
        ([.sentPart, .head], 60, .idleTimedOut),
        ([.sentPart, .head, .sentPart, .sentWhole], 60, .idleTimedOut),
        ([.sentWhole, .head, .paused], nil, .totalTimedOut),
        ([.sentPart, .head, .paused, .sentPart], nil, .totalTimedOut),
        ([.sentWhole, .head, .paused, .resumed], 60, .idleTimedOut),
        ([.sentWhole, .switched], 60, .idleTimedOut),
        ([.sentWhole, .switched, .paused], nil, .totalTimedOut),
        ([.sentWhole, .switched, .paused, .resumed], 60, .idleTimedOut),
    ]

    @Test(arguments: rows)
    func `each wait has its deadline`(_ events: [Event], _ seconds: Int?, _ failure: UpstreamFailure) {
        let deadlines = Self.after(events)
        let instant = seconds.map { Self.now.advanced(by: .seconds($0)) }
        #expect(
            deadlines.due(from: Self.now, Self.times, end: Self.far)
                == .init(instant: instant ?? Self.far, failure: failure)
        )
        #expect(
            deadlines.due(from: Self.now, Self.times, end: nil)
                == .init(instant: instant ?? .distantFuture, failure: failure)
        )
        #expect(
            deadlines.due(from: Self.now, Self.times, end: Self.near)
                == .init(instant: Self.near, failure: .totalTimedOut)
        )
    }

    /// Events, a failure, whether it says something of the endpoint.
    static let faults: [([Event], UpstreamFailure, Bool)] = [
        ([], .connectTimedOut, true),
        ([], .connectRefused, true),
        ([], .nameNotResolved, true),
        ([], .certificate("expired"), true),
        ([], .poolExhausted, false),
        ([.sentWhole], .firstByteTimedOut, true),
        ([.sentWhole], .closedEarly, true),
        ([.sentPart], .closedEarly, false),
        ([.sentPart], .idleTimedOut, false),
        ([.sentWhole], .totalTimedOut, false),
        ([.sentWhole], .invalidResponse("status"), true),
        ([.sentPart], .invalidResponse("status"), true),
        ([.sentWhole], .streamReset(.internalError), true),
        ([.sentWhole], .streamReset(.cancel), false),
        ([.sentPart], .streamReset(.internalError), false),
        ([.sentWhole, .head], .idleTimedOut, false),
        ([.sentWhole, .head], .closedEarly, false),
        ([.sentWhole, .head], .totalTimedOut, false),
        ([.sentWhole, .head], .invalidResponse("chunk_size"), true),
        ([.sentWhole, .head, .paused], .closedEarly, false),
        ([.sentWhole, .switched], .idleTimedOut, false),
        ([.sentWhole, .switched], .closedEarly, false),
    ]

    @Test(arguments: faults)
    func `only what a client cannot bring about is the endpoint's fault`(
        _ events: [Event],
        _ failure: UpstreamFailure,
        _ isBlamed: Bool
    ) {
        #expect(Self.after(events).blamesEndpoint(for: failure) == isBlamed)
    }

    @Test func `the next request begins anew`() {
        var deadlines = Self.after([.sentWhole, .head, .paused])
        deadlines.reset()
        #expect(deadlines == UpstreamDeadlines())
    }
}
