// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

import Transport

/// Turns one call's callback into a wait.
@Reactor
final class RedisCallWaiter: RedisReplyReceiver {
    private var caller: ParkedCaller<Result<RedisReply, StoreError>>?
    private var result: Result<RedisReply, StoreError>?

    /// The answer; an error of Redis is thrown.
    func answer() async throws(StoreError) -> RedisReply {
        if let result { return try result.get() }
        return try await ParkedCaller.park { caller = $0 }.get()
    }

    func replied(_ reply: RedisReplyTape, token: Int) {
        finish(reply.error.map { .failure($0) } ?? .success(reply.value()))
    }

    func failed(_ error: StoreError, token: Int) {
        finish(.failure(error))
    }

    private func finish(_ outcome: Result<RedisReply, StoreError>) {
        if let caller {
            caller.resume(returning: outcome)
        } else {
            result = outcome
        }
    }
}
