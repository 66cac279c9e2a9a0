// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Challenges of an app in a dialect: who asked for each, when each ends, and which network has how many.
///
/// KEYS[1] is a sorted set of all by when they end, KEYS[2] a hash from challenge to network, KEYS[3] a sorted set of
/// networks by how many are open. Beside them lies one sorted set for each network, named as KEYS[1] with the network
/// behind it. What leaves one leaves all, so that all together are bounded by the most of an app.
enum ChallengeScripts {
    /// Takes a challenge out of all four; answers when it would have ended, or false.
    private static let forget = """
        local function forget(challenge)
          local expiry = redis.call('ZSCORE', KEYS[1], challenge)
          if not expiry then return false end
          local network = redis.call('HGET', KEYS[2], challenge)
          redis.call('ZREM', KEYS[1], challenge)
          redis.call('HDEL', KEYS[2], challenge)
          if network then
            redis.call('ZREM', KEYS[1] .. ':' .. network, challenge)
            if tonumber(redis.call('ZINCRBY', KEYS[3], -1, network)) <= 0 then redis.call('ZREM', KEYS[3], network) end
          end
          return tonumber(expiry)
        end

        """

    /// Adds a challenge and keeps all within their bounds.
    ///
    /// ARGV: challenge, lifetime in ms, network, most of a network, most of an app.
    /// A network that asks for too many loses its own oldest. Where an app has too many, the network that holds most of
    /// them loses its oldest: a flood from a few addresses locks nobody else out.
    static let issue = RedisScript(
        forget + """
            local time = redis.call('TIME')
            local now = time[1] * 1000 + math.floor(time[2] / 1000)
            local expiry = now + ARGV[2]
            local own = KEYS[1] .. ':' .. ARGV[3]
            for _, over in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do forget(over) end
            local function oldest(set) return redis.call('ZRANGE', set, 0, 0)[1] end
            if redis.call('ZCARD', own) >= tonumber(ARGV[4]) then forget(oldest(own)) end
            if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) then
              local most = redis.call('ZREVRANGE', KEYS[3], 0, 0, 'WITHSCORES')
              local set = most[2] and tonumber(most[2]) > 1 and KEYS[1] .. ':' .. most[1] or KEYS[1]
              forget(oldest(set) or oldest(KEYS[1]))
            end
            redis.call('ZADD', KEYS[1], expiry, ARGV[1])
            redis.call('ZADD', own, expiry, ARGV[1])
            redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
            redis.call('ZINCRBY', KEYS[3], 1, ARGV[3])
            for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[2] + 1000) end
            redis.call('PEXPIRE', own, ARGV[2] + 1000)
            return expiry
            """
    )

    /// Takes a challenge: 1 once, for one caller, before it expires.
    ///
    /// ARGV: challenge.
    static let take = RedisScript(
        forget + """
            local expiry = forget(ARGV[1])
            if not expiry then return 0 end
            local time = redis.call('TIME')
            return expiry > time[1] * 1000 + time[2] / 1000 and 1 or 0
            """
    )
}
