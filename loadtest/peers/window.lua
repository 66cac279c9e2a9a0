-- Copyright (c) the Sallyport authors.
-- Licensed under the Apache License, Version 2.0.
--
-- The window that nginx asks Redis for: this minute and a share of the one before.
local c = redis.call('INCR', KEYS[1])
if c == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local p = tonumber(redis.call('GET', KEYS[2]) or '0')
if p * tonumber(ARGV[1]) + c > tonumber(ARGV[3]) then return 0 end
return c
