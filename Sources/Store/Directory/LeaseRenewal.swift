// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// The renewals of one feed: the timer and the answers.
@Reactor
final class LeaseRenewal: RedisReplyReceiver {
    weak var feed: ChangeFeed?
    let timer: LoopTimer
    private let loop: EventLoop
    /// What each renewal on its way said and when it was sent, by token.
    private var underWay: [Int: (applied: Int, sent: MonotonicInstant)] = [:]
    private var nextToken = 0

    init(loop: EventLoop) {
        self.loop = loop
        timer = LoopTimer(loop: loop, ofProcess: true)
        timer.onFire = { [weak self] in self?.feed?.renew() }
    }

    func send(worker: String, applied: Int, milliseconds: Int, epoch: String, on connection: RedisConnection) {
        nextToken &+= 1
        // The turn's time: no later than the bytes leave, so the lease is never longer than it is for others.
        underWay[nextToken] = (applied, loop.now)
        let isSent = connection.send(receiver: self, token: nextToken) { buffer in
            buffer.beginCommand(arguments: 8)
            // EVAL's source each second costs nothing and needs no care for NOSCRIPT.
            buffer.appendArgument(utf8: "EVAL")
            buffer.appendArgument(utf8: RegistryScripts.lease.source)
            buffer.appendArgument(decimal: 1)
            buffer.appendArgument(utf8: RegistryScripts.tag)
            buffer.appendArgument(utf8: worker)
            buffer.appendArgument(decimal: applied)
            buffer.appendArgument(decimal: milliseconds)
            buffer.appendArgument(utf8: epoch)
        }
        if !isSent { underWay[nextToken] = nil }
    }

    func replied(_ reply: RedisReplyTape, token: Int) {
        guard let renewal = underWay.removeValue(forKey: token) else { return }
        if let error = reply.error {
            feed?.renewalRefused(error)
            return
        }
        guard reply.count == 5, let isExtended = reply.integer(at: 1), let sequence = reply.integer(at: 2)
        else { return }
        feed?.renewed(
            applied: renewal.applied,
            at: renewal.sent,
            isExtended: isExtended == 1,
            sequence: sequence,
            birth: reply.withBytes(at: 4) { String(decoding: [UInt8](copying: $0), as: UTF8.self) }
        )
    }

    func failed(_ error: StoreError, token: Int) {
        underWay[token] = nil
    }
}
