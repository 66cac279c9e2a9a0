// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Challenges as members of sorted sets, by when they expire: one set for each app and dialect, and one for each network
/// that asked.
enum ChallengeScripts {
    /// Adds a challenge and keeps both sets within their bounds.
    ///
    /// KEYS: the app's set, the network's set. ARGV: challenge, lifetime in ms, most of a network, most of an app.
    /// A network that asks for too many loses its own oldest, so that a flood from one address locks nobody else out.
    static let issue = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local expiry = now + ARGV[2]
        for i = 1, 2 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now) end
        if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then
          redis.call('ZREM', KEYS[1], redis.call('ZPOPMIN', KEYS[2])[1])
        end
        if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then redis.call('ZPOPMIN', KEYS[1]) end
        for i = 1, 2 do
          redis.call('ZADD', KEYS[i], expiry, ARGV[1])
          redis.call('PEXPIRE', KEYS[i], ARGV[2] + 1000)
        end
        return expiry
        """
    )

    /// Takes a challenge: 1 once, for one caller, before it expires.
    ///
    /// KEYS: the app's set. ARGV: challenge.
    static let take = RedisScript(
        """
        local expiry = redis.call('ZSCORE', KEYS[1], ARGV[1])
        if not expiry then return 0 end
        redis.call('ZREM', KEYS[1], ARGV[1])
        local time = redis.call('TIME')
        return tonumber(expiry) > time[1] * 1000 + time[2] / 1000 and 1 or 0
        """
    )
}
