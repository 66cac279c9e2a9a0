// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The scripts of what all nodes share beside the registry, under the same tag and in the same stream of changes.
///
///     {registry}:signing, :keyring   hash: v version, j document
///     {registry}:issuer:NAME         hash: s source, j key set, at when it was fetched; expires with the set
///     {registry}:refetch:NAME        there while no key set of the issuer is fetched for an unknown key
///     {registry}:nodes               hash: node → the ids of the keys at rest that it holds, and when it said so
///     {registry}:history:_gateway    history of the gateway itself
enum KeyScripts {
    /// Whose history a change of a shared document enters; no organization can have this name.
    static let subject = "_gateway"

    /// Writes a document iff its version is the expected one.
    ///
    /// ARGV: name, expected version, document, events as JSON, by. Answers {ok, sequence} or {conflict}.
    static let change = RedisScript(
        """
        local p, name = KEYS[1], ARGV[1]
        local key = p .. ':' .. name
        local version = tonumber(redis.call('HGET', key, 'v') or '0')
        if version ~= tonumber(ARGV[2]) then return { 'conflict' } end
        redis.call('HSET', key, 'v', version + 1, 'j', ARGV[3])
        for _, event in ipairs(cjson.decode(ARGV[4])) do
          redis.call('XADD', p .. ':history:\(subject)', 'MAXLEN', '~', '\(RegistryScripts.historyKept)', '*',
            'event', event[1], 'by', ARGV[5], 'details', event[2])
        end
        local sequence = redis.call('INCR', p .. ':sequence')
        redis.call('XADD', p .. ':changes', 'MAXLEN', '\(RegistryScripts.changesKept)', sequence .. '-0',
          'kind', name, 'id', name, 'organization', '', 'sites', '[]')
        return { 'ok', sequence }
        """
    )

    /// Keeps a fetched key set, and says so in the stream where it differs from the one before.
    ///
    /// ARGV: issuer, source, key set, when it was fetched in ms, how long it is kept in ms. An older fetch than the one
    /// kept changes nothing. Answers 1 where the set differs.
    static let keepKeySet = RedisScript(
        """
        local p = KEYS[1]
        local key = p .. ':issuer:' .. ARGV[1]
        local old = redis.call('HMGET', key, 's', 'j', 'at')
        if old[1] == ARGV[2] and tonumber(old[3] or '0') > tonumber(ARGV[4]) then return 0 end
        redis.call('HSET', key, 's', ARGV[2], 'j', ARGV[3], 'at', ARGV[4])
        redis.call('PEXPIRE', key, ARGV[5])
        if old[1] == ARGV[2] and old[2] == ARGV[3] then return 0 end
        local sequence = redis.call('INCR', p .. ':sequence')
        redis.call('XADD', p .. ':changes', 'MAXLEN', '\(RegistryScripts.changesKept)', sequence .. '-0',
          'kind', 'issuer', 'id', ARGV[1], 'organization', '', 'sites', '[]')
        return 1
        """
    )

    /// Writes history rows: ARGV subject, events as JSON, by.
    static let note = RedisScript(
        """
        for _, event in ipairs(cjson.decode(ARGV[2])) do
          redis.call('XADD', KEYS[1] .. ':history:' .. ARGV[1], 'MAXLEN', '~', '\(RegistryScripts.historyKept)', '*',
            'event', event[1], 'by', ARGV[3], 'details', event[2])
        end
        return 1
        """
    )

    /// Whether a token is revoked: ARGV id or nothing, when it was issued in ms, subjects of watermarks.
    static let isRevoked = RedisScript(
        """
        local p = KEYS[1]
        if ARGV[1] ~= '' and redis.call('ZSCORE', p .. ':revoked', ARGV[1]) then return 1 end
        for i = 3, #ARGV do
          local mark = redis.call('HGET', p .. ':marks', ARGV[i])
          if mark and tonumber(ARGV[2]) < tonumber(mark) then return 1 end
        end
        return 0
        """
    )

    /// Notes which keys a node holds, forgets nodes that were silent for a minute, and lists the others.
    ///
    /// ARGV: node, JSON text without the time. Answers {node, JSON, …} of all that live.
    static let heartbeat = RedisScript(
        """
        local nodes = KEYS[1] .. ':nodes'
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('HSET', nodes, ARGV[1], now .. ' ' .. ARGV[2])
        local reply = {}
        local all = redis.call('HGETALL', nodes)
        for i = 1, #all, 2 do
          local space = string.find(all[i + 1], ' ', 1, true)
          if tonumber(string.sub(all[i + 1], 1, space - 1)) < now - 60000 then
            redis.call('HDEL', nodes, all[i])
          else
            reply[#reply + 1] = all[i]
            reply[#reply + 1] = string.sub(all[i + 1], space + 1)
          end
        end
        return reply
        """
    )
}
