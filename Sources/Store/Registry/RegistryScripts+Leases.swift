// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

extension RegistryScripts {
    /// Registers or renews a worker's lease: ARGV worker, last change applied, length in ms, epoch or nothing.
    ///
    /// The lease grows only while the worker has applied everything: one that renews but hears no changes must run out.
    /// Answers {extended, sequence, now in ms, the registry's name or nothing}.
    static let lease = RedisScript(
        """
        local p, worker = KEYS[1], ARGV[1]
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local sequence = tonumber(redis.call('GET', p .. ':sequence') or '0')
        local applied = tonumber(ARGV[2])
        if ARGV[4] ~= '' then
          local known = redis.call('HGET', p .. ':epoch', 'id')
          if known ~= ARGV[4] then
            redis.call('HSET', p .. ':epoch', 'id', ARGV[4], 'since', known and now or 0)
          end
          redis.call('HSET', p .. ':epoch', 'lease', ARGV[3])
        end
        local extended = 0
        if applied >= sequence then
          extended = 1
          redis.call('ZADD', p .. ':leases', now + ARGV[3], worker)
        end
        redis.call('HSET', p .. ':applied', worker, applied)
        local dead = redis.call('ZRANGEBYSCORE', p .. ':leases', '-inf', now - 60000, 'LIMIT', 0, 16)
        for _, other in ipairs(dead) do
          redis.call('ZREM', p .. ':leases', other)
          redis.call('HDEL', p .. ':applied', other)
        end
        return { extended, sequence, now, redis.call('GET', p .. ':birth') or '' }
        """
    )

    /// Ends a worker's lease: ARGV worker.
    static let endLease = RedisScript(
        """
        redis.call('ZREM', KEYS[1] .. ':leases', ARGV[1])
        redis.call('HDEL', KEYS[1] .. ':applied', ARGV[1])
        return 1
        """
    )

    /// Names the live workers that have not applied change ARGV[1]: {now in ms, worker, expiry in ms, …}.
    ///
    /// ARGV[2] is the epoch, or nothing where the store loses no acknowledged write. In the first lease of an epoch a
    /// worker may live whose registration was lost with the old one: `(failover)` stands for it. ARGV[3] is the
    /// registry's name or nothing: in an empty one nobody has a lease.
    static let waiting = RedisScript(
        """
        \(isOurs(3))
        local p = KEYS[1]
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local reply = { now }
        if ARGV[2] ~= '' then
          local epoch = redis.call('HMGET', p .. ':epoch', 'id', 'since', 'lease')
          if epoch[1] and epoch[1] ~= ARGV[2] then
            redis.call('HSET', p .. ':epoch', 'id', ARGV[2], 'since', now)
            epoch[2] = now
          end
          local ends = tonumber(epoch[2] or 0) + tonumber(epoch[3] or 0)
          if now < ends then reply = { now, '(failover)', ends } end
        end
        local live = redis.call('ZRANGEBYSCORE', p .. ':leases', '(' .. now, '+inf', 'WITHSCORES')
        for i = 1, #live, 2 do
          local applied = tonumber(redis.call('HGET', p .. ':applied', live[i]) or '-1')
          if applied < tonumber(ARGV[1]) then
            reply[#reply + 1] = live[i]
            reply[#reply + 1] = tonumber(live[i + 1])
          end
        end
        return reply
        """
    )
}
