// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// Sign-ins of the last hour as members of sorted sets, by when they were reserved: exact, and small because the limits
/// are.
enum CapScripts {
    /// Reserves a place under every cap, or under none.
    ///
    /// KEYS: the caps. ARGV: the reservation, the window in ms, the limit of each cap.
    /// Answers {0} when it was reserved, else {number of the cap without room, ms until it has some}.
    static let reserve = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local window = tonumber(ARGV[2])
        for i = 1, #KEYS do
          redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now - window)
          local limit = tonumber(ARGV[2 + i])
          local count = redis.call('ZCARD', KEYS[i])
          if count >= limit then
            local first = redis.call('ZRANGE', KEYS[i], count - limit, count - limit, 'WITHSCORES')
            return { i, first[2] + window - now }
          end
        end
        for i = 1, #KEYS do
          redis.call('ZADD', KEYS[i], now, ARGV[1])
          redis.call('PEXPIRE', KEYS[i], window + 1000)
        end
        return { 0 }
        """
    )

    /// Gives a reservation back: the sign-in was not completed.
    ///
    /// KEYS: the caps. ARGV: the reservation.
    static let cancel = RedisScript(
        """
        for i = 1, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
        return 0
        """
    )
}
