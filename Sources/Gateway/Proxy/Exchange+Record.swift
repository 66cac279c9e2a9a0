// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Credentials
import HTTP
import Telemetry
import Transport

extension Exchange {
    /// Writes the access-log line and counts; runs once for each exchange, whatever became of it.
    func record() {
        let metrics = worker.metrics
        let now = worker.loop.now
        let total = Self.microseconds(now, since: facts.startedAt)
        metrics.inFlight.add(-1)
        metrics.wire.countRequest(request.version)
        metrics.receivedBytes.increment(by: UInt64(facts.bytesIn))
        metrics.sentBytes.increment(by: UInt64(facts.bytesOut))
        let route = facts.route
        let connection = facts.connection
        let counters = route?.metrics ?? (facts.local == nil ? worker.snapshot.unrouted : worker.snapshot.local)
        counters.count(facts.outcome, status: facts.status == 0 && facts.clientFailure != nil ? 499 : facts.status)
        counters.duration.record(nanoseconds: UInt64(total) * 1000)

        var entry = AccessEntry(decisionID: facts.decision)
        entry.timeMicroseconds = worker.loop.wallClockMilliseconds * 1000
        entry.outcome = facts.outcome
        entry.reason = facts.clientFailure?.rawValue ?? facts.upstreamFailure?.reason ?? facts.reason
        if let app = facts.app {
            entry.app = app.logMembers
            metrics.app(app).count(facts.outcome)
        }
        if let kind = facts.admission?.kind {
            entry.keyID = facts.admission?.keyID?.rawValue ?? facts.token?.keyID
            entry.credential = kind.rawValue
            entry.trust = facts.admission?.trust?.rawValue
        }
        if let grant = facts.signIn?.grant {
            entry.credential = grant.credential
            entry.trust = grant.verdict?.trust.rawValue
        }
        if let route {
            entry.route = route.logMember
        } else if let group = facts.local?.endpoint.group {
            entry.route = JSONLine.member(AccessEntry.routeMember, "_\(group.rawValue)")
        }
        if wasSent, let endpoint = triedEndpoint { entry.upstream = endpoint.logMember }
        entry.client = facts.clientText ?? connection?.peerText ?? ""
        entry.status = facts.status
        entry.httpVersion = HTTPVersionText(request.version)
        entry.tls = connection?.session?.version.rawValue
        entry.bytesIn = facts.bytesIn
        entry.bytesOut = facts.bytesOut
        entry.totalMicroseconds = total
        if let began = facts.forwardedAt, let head = facts.firstByteAt {
            let upstream = Self.microseconds(head, since: began)
            entry.upstreamMicroseconds = upstream
            counters.upstreamDuration.record(nanoseconds: UInt64(upstream) * 1000)
        }
        request.record(
            entry,
            in: worker.environment.accessLog,
            withRequestID: connection?.isTrustedProxy == true
        )
        worker.logWritten()
    }

    private static func microseconds(_ end: MonotonicInstant, since start: MonotonicInstant) -> Int {
        end > start ? Int(truncatingIfNeeded: (end.nanoseconds &- start.nanoseconds) / 1000) : 0
    }
}

extension RequestHead {
    /// Adds what the head itself tells to the log line; a request id counts from trusted proxies only.
    fileprivate func record(_ entry: borrowing AccessEntry, in log: AccessLog, withRequestID: Bool) {
        if withRequestID, let id = fields.first(.xRequestID) {
            log.record(entry, requestID: id, method: methodBytes)
        } else {
            log.record(entry, requestID: methodBytes.extracting(0..<0), method: methodBytes)
        }
    }
}

extension HTTPVersionText {
    init(_ version: HTTPVersion) {
        switch version {
        case .http10: self = .http10
        case .http11: self = .http11
        case .http2: self = .http2
        }
    }
}
