// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

package import Buffers
import Transport

extension RedisConnection {
    /// Sends one command, which `write` must write completely; false: nothing was sent and no answer will come.
    package func send(
        receiver: any RedisReplyReceiver,
        token: Int,
        deadline: Duration? = nil,
        _ write: (inout ByteBuffer) -> Void
    ) -> Bool {
        guard isReady, queue.count < Self.mostCalls else { return false }
        enqueue(receiver, token, loop.now.advanced(by: deadline ?? options.deadline))
        link.send(write)
        return true
    }

    /// Sends a command and waits for its answer; an error of Redis is thrown as `.refused`.
    package func call(
        _ arguments: [RedisArgument],
        deadline: Duration? = nil
    ) async throws(StoreError) -> RedisReply {
        let waiter = RedisCallWaiter()
        let isSent = send(receiver: waiter, token: 0, deadline: deadline) { buffer in
            buffer.beginCommand(arguments: arguments.count)
            for argument in arguments { argument.write(to: &buffer) }
        }
        guard isSent else { throw .unavailable }
        return try await waiter.answer()
    }

    /// Runs a script, by its digest first and with its source where the server does not know it.
    package func evaluate(
        _ script: RedisScript,
        keys: [RedisArgument],
        arguments: [RedisArgument],
        deadline: Duration? = nil
    ) async throws(StoreError) -> RedisReply {
        let rest = [.number(keys.count)] + keys + arguments
        do throws(StoreError) {
            return try await call(["EVALSHA", .bytes(script.digest)] + rest, deadline: deadline)
        } catch  where error.isMissingScript {
            return try await call(["EVAL", .text(script.source)] + rest, deadline: deadline)
        }
    }

    /// The name of this history of the data, asked once for each connection; empty where a new one loses nothing.
    func epoch() async throws(StoreError) -> String {
        if endpoint.losesNothing { return "" }
        if let knownEpoch, knownEpoch.generation == generation { return knownEpoch.id }
        let asked = generation
        let id = try await RedisRequirements.epoch(of: self)
        knownEpoch = (asked, id)
        return id
    }

    func enqueue(_ receiver: (any RedisReplyReceiver)?, _ token: Int, _ deadline: MonotonicInstant) {
        if deadline < timerDue { armTimer(at: deadline) }
        queue.append(RedisCallQueue.Call(receiver: receiver, token: token, sentAt: loop.now, deadline: deadline))
    }
}
