// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.

/// The exact sliding window in Redis: all windows of one request, all or nothing.
///
/// A window is one string, so that a call costs one read and one write of it:
///
///     sum (5 bytes) | oldest bucket (6) | newest bucket (6) | entry …
///     entry: distance from the one before (1), units (4)
///
/// Entries are the non-empty buckets, at most 61, so a quiet client's window takes 22 bytes and the busiest 322. The
/// oldest entry's distance has no meaning. A string that cannot be one of ours is dropped and counted afresh. The first
/// write into a bucket sets the expiry, 61 buckets from then, which is not before that bucket leaves the window, and
/// heals a key that lost it; later writes into the bucket keep it, which is less to do and to write to disk.
enum WindowScript {
    /// Spends windows, all or none.
    ///
    /// KEYS: the windows. ARGV: limit, bucket length in microseconds and cost of each, a negative cost for shadow
    /// windows.
    ///
    /// Answers one string: a byte (1 admitted), then for each window a byte (1 had room), remaining and milliseconds to
    /// reset, four bytes each, big-endian; 0xffffffff is never.
    static let exact = RedisScript(source(time: "redis.call('TIME')"))

    /// The script with another clock, for tests: `{seconds, microseconds}`.
    static func source(time: String) -> String {
        """
        local time = \(time)
        local now = time[1] * 1000000 + time[2]
        local unpack, pack, floor = struct.unpack, struct.pack, math.floor
        local bodies, sums, firsts, lasts, buckets, fits, waits = {}, {}, {}, {}, {}, {}, {}
        local admitted = 1
        for i = 1, #KEYS do
          local a = i * 3
          local limit, width, cost = tonumber(ARGV[a - 2]), tonumber(ARGV[a - 1]), tonumber(ARGV[a])
          local shadow = cost < 0
          if shadow then cost = -cost end
          local bucket = floor(now / width)
          local value = redis.call('GET', KEYS[i])
          local sum, first, last, at = 0, bucket, bucket, 0
          if value and #value >= 22 and #value % 5 == 2 then
            sum, first, last = unpack('>I5I6I6', value)
            if last > bucket then bucket = last end
            local low = bucket - 60
            if last >= low then
              at = 18
              while first < low do
                sum = sum - unpack('>I4', value, at + 1)
                at = at + 5
                first = first + value:byte(at)
              end
            else
              sum, first, last = 0, bucket, bucket
            end
          end
          local fit = sum + cost <= limit
          local wait = first
          if not fit then
            local excess, p = sum + cost - limit, at
            while true do
              if p == 0 or p > #value then wait = -1 break end
              excess = excess - unpack('>I4', value, p + 1)
              if excess <= 0 then break end
              p = p + 5
              if p < #value then wait = wait + value:byte(p) end
            end
            if not shadow then admitted = 0 end
          end
          bodies[i] = at > 0 and value:sub(at) or ''
          sums[i], firsts[i], lasts[i], buckets[i], fits[i] = sum, first, last, bucket, fit
          waits[i] = wait < 0 and 4294967295 or math.min(4294967294, math.ceil(((wait + 61) * width - now) / 1000))
        end
        local reply = { pack('B', admitted) }
        for i = 1, #KEYS do
          local a = i * 3
          local limit, width, cost = tonumber(ARGV[a - 2]), tonumber(ARGV[a - 1]), math.abs(tonumber(ARGV[a]))
          local sum, body = sums[i], bodies[i]
          if admitted == 1 and fits[i] then
            sum = sum + cost
            local head = pack('>I5I6I6', sum, firsts[i], buckets[i])
            if body ~= '' and lasts[i] == buckets[i] then
              body = body:sub(1, -5) .. pack('>I4', unpack('>I4', body, #body - 3) + cost)
              redis.call('SET', KEYS[i], head .. body, 'KEEPTTL')
            else
              body = body .. pack('>BI4', buckets[i] - lasts[i], cost)
              redis.call('SET', KEYS[i], head .. body, 'PX', math.ceil(width * 61 / 1000))
            end
          end
          reply[i + 1] = pack('>BI4I4', fits[i] and 1 or 0, math.max(0, limit - sum), waits[i])
        end
        return table.concat(reply)
        """
    }
}
