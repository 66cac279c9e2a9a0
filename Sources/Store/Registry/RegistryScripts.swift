// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The registry's scripts; one tag `{registry}`, passed as the only key, under which they build all names.
///
///     {registry}:app:ID          hash: v version, j record, o organization
///     {registry}:org:ID          hash: v version, j record
///     {registry}:apps            sorted set of record ids by creation; {registry}:apps:ORG those of one organization
///     {registry}:orgs            sorted set of organizations by creation
///     {registry}:ids, :names, :keys   App ID, `org/username`, key id → record id
///     {registry}:site:ORIGIN     hash: record id → organization, for an origin or a domain
///     {registry}:history:ID      stream of an app's or organization's history, its latest rows
///     {registry}:birth           the name that this registry was given when it was made
///     {registry}:sequence        the number of the last change
///     {registry}:changes         stream of changes; an entry's id is its number
///     {registry}:revoked         sorted set: token id by the token's expiry
///     {registry}:marks           hash: subject → tokens issued before this are revoked; :mark-ends by expiry
///     {registry}:epoch           hash: id of this history of the data, since when, the leases' length
///     {registry}:leases, :applied    workers by expiry, and the last change each has applied
///     {registry}:under-way       sorted set: changes being made, by when they are given up
///     {registry}:uses            key id → when and from which network it was last used
enum RegistryScripts {
    /// The one key of every script.
    static let tag = "{registry}"
    /// Where changes that are being made are noted.
    static let underWay = tag + ":under-way"
    /// Changes kept for workers to catch up; one that is further behind drops its cache and reads again.
    static let changesKept = 10_000
    /// Rows of a history that are kept at least: Redis evicts nothing, and a tenant's own servers write rows too.
    ///
    /// At 250 bytes a row a history holds 2.5 MiB at most; an app that is changed ten times a
    /// day fills it in three years.
    static let historyKept = 10_000

    /// Begins scripts that must not be answered by another registry than ours: ARGV[number] is its name, or nothing.
    static func isOurs(_ number: Int) -> String {
        """
        if ARGV[\(number)] ~= '' and redis.call('GET', KEYS[1] .. ':birth') ~= ARGV[\(number)] then
          return redis.error_reply('LOST another registry')
        end
        """
    }

    /// Applies one change iff the version is the expected one and what it claims is free.
    ///
    /// ARGV[2] is the registry's name or nothing, ARGV[1] JSON: kind, id, expect, organization, claim, record,
    /// release, unlisted, sites, lists, created, events, by, touched. Answers {ok, sequence, version}, {conflict},
    /// {taken, index, value} or {missing}.
    static let change = RedisScript(
        """
        \(isOurs(2))
        local p = KEYS[1]
        local c = cjson.decode(ARGV[1])
        local record = p .. ':' .. c.kind .. ':' .. c.id
        local version = tonumber(redis.call('HGET', record, 'v') or '0')
        if version ~= c.expect then return { 'conflict' } end
        if c.kind == 'app' and redis.call('EXISTS', p .. ':org:' .. c.organization) == 0 then return { 'missing' } end
        for _, x in ipairs(c.claim) do
          local owner = redis.call('HGET', p .. ':' .. x[1], x[2])
          if owner and owner ~= c.id then return { 'taken', x[1], x[2] } end
        end
        version = version + 1
        redis.call('HSET', record, 'v', version, 'j', c.record, 'o', c.organization)
        for _, x in ipairs(c.release) do
          if redis.call('HGET', p .. ':' .. x[1], x[2]) == c.id then redis.call('HDEL', p .. ':' .. x[1], x[2]) end
          if x[1] == 'keys' then redis.call('HDEL', p .. ':uses', x[2]) end
        end
        for _, x in ipairs(c.claim) do redis.call('HSET', p .. ':' .. x[1], x[2], c.id) end
        for _, site in ipairs(c.unlisted) do redis.call('HDEL', p .. ':site:' .. site, c.id) end
        for _, site in ipairs(c.sites) do redis.call('HSET', p .. ':site:' .. site, c.id, c.organization) end
        if version == 1 then
          for _, list in ipairs(c.lists) do redis.call('ZADD', p .. ':' .. list, c.created, c.id) end
        end
        for _, event in ipairs(c.events) do
          redis.call('XADD', p .. ':history:' .. c.id, 'MAXLEN', '~', '\(historyKept)', '*',
            'event', event[1], 'by', c.by, 'details', event[2])
        end
        local sequence = redis.call('INCR', p .. ':sequence')
        redis.call('XADD', p .. ':changes', 'MAXLEN', '\(changesKept)', sequence .. '-0',
          'kind', c.kind, 'id', c.id, 'organization', c.organization, 'sites', c.touched)
        return { 'ok', sequence, version }
        """
    )

    /// Reads one app by an index: ARGV `app`, `ids`, `names` or `keys`, the value, and the registry's name or nothing.
    ///
    /// Answers {record id, version, record, organization's record} or {}; of a registry that is lost nobody is unknown.
    static let fetch = RedisScript(
        """
        local p = KEYS[1]
        local id = ARGV[2]
        if ARGV[1] ~= 'app' then id = redis.call('HGET', p .. ':' .. ARGV[1], id) end
        local function none()
          if ARGV[3] ~= '' and redis.call('GET', p .. ':birth') ~= ARGV[3] then
            return redis.error_reply('LOST another registry')
          end
          return {}
        end
        if not id then return none() end
        local r = redis.call('HMGET', p .. ':app:' .. id, 'v', 'j', 'o')
        if not r[1] then return none() end
        return { id, r[1], r[2], redis.call('HGET', p .. ':org:' .. r[3], 'j') }
        """
    )

    /// Reads a page of records.
    ///
    /// ARGV: kind, list, first, last. Answers {id, record, …}.
    static let page = RedisScript(
        """
        local p = KEYS[1]
        local reply = {}
        for _, id in ipairs(redis.call('ZRANGE', p .. ':' .. ARGV[2], ARGV[3], ARGV[4])) do
          reply[#reply + 1] = id
          reply[#reply + 1] = redis.call('HGET', p .. ':' .. ARGV[1] .. ':' .. id, 'j')
        end
        return reply
        """
    )

    /// Gives a registry that has no name yet the name ARGV[1]: {name, sequence}.
    static let birth = RedisScript(
        """
        local p = KEYS[1]
        redis.call('SET', p .. ':birth', ARGV[1], 'NX')
        return { redis.call('GET', p .. ':birth'), redis.call('GET', p .. ':sequence') or '0' }
        """
    )

    /// Revokes tokens and sets watermarks, and forgets those that no living token can meet any more.
    ///
    /// ARGV[1] is JSON: id (whose history), organization, by, events, tokens, marks; ARGV[2] and [3] are the two lists
    /// again as text, for the stream; ARGV[4] is the registry's name or nothing. Answers the number of the change.
    static let revoke = RedisScript(
        """
        \(isOurs(4))
        local p = KEYS[1]
        local c = cjson.decode(ARGV[1])
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local ended = now - \(Revocation.margin)
        redis.call('ZREMRANGEBYSCORE', p .. ':revoked', '-inf', ended)
        for _, subject in ipairs(redis.call('ZRANGEBYSCORE', p .. ':mark-ends', '-inf', ended, 'LIMIT', 0, 256)) do
          redis.call('ZREM', p .. ':mark-ends', subject)
          redis.call('HDEL', p .. ':marks', subject)
        end
        for _, x in ipairs(c.tokens) do redis.call('ZADD', p .. ':revoked', 'GT', x[2], x[1]) end
        for _, x in ipairs(c.marks) do
          local before = tonumber(redis.call('HGET', p .. ':marks', x[1]) or '0')
          redis.call('HSET', p .. ':marks', x[1], string.format('%.0f', math.max(before, x[2])))
          redis.call('ZADD', p .. ':mark-ends', 'GT', x[3], x[1])
        end
        for _, event in ipairs(c.events) do
          redis.call('XADD', p .. ':history:' .. c.id, 'MAXLEN', '~', '\(historyKept)', '*',
            'event', event[1], 'by', c.by, 'details', event[2])
        end
        local sequence = redis.call('INCR', p .. ':sequence')
        redis.call('XADD', p .. ':changes', 'MAXLEN', '\(changesKept)', sequence .. '-0',
          'kind', 'revocation', 'id', c.id, 'organization', c.organization, 'sites', '[]',
          'tokens', ARGV[2], 'marks', ARGV[3])
        return sequence
        """
    )

    /// Notes that a change is being made: ARGV its name, the most it may take in ms.
    static let beginChange = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('ZREMRANGEBYSCORE', KEYS[1] .. ':under-way', '-inf', now)
        return redis.call('ZADD', KEYS[1] .. ':under-way', now + ARGV[2], ARGV[1])
        """
    )

    /// How many changes are being made.
    static let changesUnderWay = RedisScript(
        """
        local time = redis.call('TIME')
        return redis.call('ZCOUNT', KEYS[1] .. ':under-way', time[1] * 1000 + math.floor(time[2] / 1000), '+inf')
        """
    )

    /// Notes the last use of a key that still exists: ARGV key id, time and network.
    static let noteUse = RedisScript(
        """
        if redis.call('HEXISTS', KEYS[1] .. ':keys', ARGV[1]) == 0 then return 0 end
        return redis.call('HSET', KEYS[1] .. ':uses', ARGV[1], ARGV[2])
        """
    )
}
