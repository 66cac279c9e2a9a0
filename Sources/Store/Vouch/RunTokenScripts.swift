// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The scripts of `RunTokenStore`; everything of an app lies under its tag, live and test apart.
enum RunTokenScripts {
    /// Keeps a token by its hash.
    ///
    /// KEYS: the token, the device's tokens. ARGV: hash, life in ms, most tokens of a device, then the fields.
    /// A device that makes too many loses its own oldest.
    static let mint = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local life = tonumber(ARGV[2])
        local expiry = now + life
        redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
        if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then
          local oldest = redis.call('ZPOPMIN', KEYS[2])[1]
          redis.call('DEL', string.sub(KEYS[1], 1, #KEYS[1] - #ARGV[1]) .. oldest)
        end
        local fields = {}
        for i = 4, #ARGV do fields[#fields + 1] = ARGV[i] end
        redis.call('HSET', KEYS[1], 'issued', now, 'expires', expiry, unpack(fields))
        redis.call('PEXPIREAT', KEYS[1], expiry)
        redis.call('ZADD', KEYS[2], expiry, ARGV[1])
        if redis.call('PTTL', KEYS[2]) < life then redis.call('PEXPIREAT', KEYS[2], expiry) end
        return { now, expiry }
        """
    )

    /// Ends every token of a device and forgets its verdict.
    ///
    /// KEYS: the devices, the device's tokens, its cached verdict. ARGV: device, what the tokens' names begin with.
    /// Answers how many were alive, and when; nothing for a device that was never seen.
    static let revoke = RedisScript(
        """
        if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return {} end
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
        local hashes = redis.call('ZRANGE', KEYS[2], 0, -1)
        for _, hash in ipairs(hashes) do redis.call('DEL', ARGV[2] .. hash) end
        redis.call('DEL', KEYS[2], KEYS[3])
        return { #hashes, now }
        """
    )

    /// Records an exchange: one row, the device's last sight, the devices that a rule meets, and what to remember.
    ///
    /// KEYS: the rows, the devices, the cached verdict, then a counter for each rule met. ARGV: device, most rows, most
    /// devices, life of a counter in ms, how long the verdict is remembered in ms (0: it is not), then the number of
    /// the row's arguments, the row, and what is remembered.
    static let record = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local count = tonumber(ARGV[6])
        local row, kept = {}, {}
        for i = 7, 6 + count do row[#row + 1] = ARGV[i] end
        for i = 7 + count, #ARGV do kept[#kept + 1] = ARGV[i] end
        redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', unpack(row))
        redis.call('ZADD', KEYS[2], now, ARGV[1])
        redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[3])
        for i = 4, #KEYS do
          redis.call('PFADD', KEYS[i], ARGV[1])
          redis.call('PEXPIRE', KEYS[i], ARGV[4])
        end
        if tonumber(ARGV[5]) > 0 then
          redis.call('DEL', KEYS[3])
          redis.call('HSET', KEYS[3], unpack(kept))
          redis.call('PEXPIRE', KEYS[3], ARGV[5])
        end
        return now
        """
    )
}
