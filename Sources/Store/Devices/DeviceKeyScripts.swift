// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The scripts of `DeviceKeyStore`; a key is one hash, the keys of an app and dialect one sorted set by age.
enum DeviceKeyScripts {
    /// Keeps an attested key: its counter and its date are those of the first registration, the rest is what came last.
    ///
    /// KEYS: the key, the set. ARGV: name in the set, point, environment, team, bundle, provenance, now in ms.
    /// Attesting a known key again neither sets its counter back nor unblocks it, and a lab's word replaces nothing of
    /// a vendor's. Answers 0 where the install is blocked.
    static let register = RedisScript(
        """
        if redis.call('HGET', KEYS[1], 'blocked') == '1' then return 0 end
        if redis.call('HGET', KEYS[1], 'provenance') == 'vendor' and ARGV[6] ~= 'vendor' then return 1 end
        redis.call('HSET', KEYS[1], 'point', ARGV[2], 'environment', ARGV[3], 'team', ARGV[4], 'bundle', ARGV[5],
          'provenance', ARGV[6], 'seen', ARGV[7])
        redis.call('HSETNX', KEYS[1], 'counter', '0')
        redis.call('HSETNX', KEYS[1], 'registered', ARGV[7])
        redis.call('ZADD', KEYS[2], 'NX', ARGV[7], ARGV[1])
        return 1
        """
    )

    /// Takes a counter that is above the last one: compared and set in one step (SAL-005).
    ///
    /// KEYS: the key. ARGV: counter, now in ms. Answers 1 taken, 0 not above, -1 no such key, -2 blocked.
    static let advance = RedisScript(
        """
        local counter = redis.call('HGET', KEYS[1], 'counter')
        if not counter then return -1 end
        if redis.call('HGET', KEYS[1], 'blocked') == '1' then return -2 end
        if tonumber(ARGV[1]) <= tonumber(counter) then return 0 end
        redis.call('HSET', KEYS[1], 'counter', ARGV[1], 'seen', ARGV[2])
        return 1
        """
    )

    /// Blocks or unblocks an install.
    ///
    /// KEYS: the key. ARGV: 1 or 0. Answers 1 changed, 0 as it was, -1 no such key.
    static let block = RedisScript(
        """
        if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
        local before = redis.call('HGET', KEYS[1], 'blocked') or '0'
        if before == ARGV[1] then return 0 end
        redis.call('HSET', KEYS[1], 'blocked', ARGV[1])
        return 1
        """
    )
}
