-- Copyright (c) the Sallyport authors.
-- Licensed under the Apache License, Version 2.0.
--
-- JWT verification through OpenSSL (FFI) and a pipelined Redis round trip over a
-- pooled cosocket, for nginx + lua-nginx-module.
local ffi = require "ffi"
local C = ffi.C
local b64 = require "ngx.base64"
local cjson = require "cjson.safe"
local sub, find, byte, fmt = string.sub, string.find, string.byte, string.format

ffi.cdef [[
typedef struct evp_md_st EVP_MD; typedef struct evp_md_ctx_st EVP_MD_CTX; typedef struct evp_pkey_st EVP_PKEY; typedef struct bio_st BIO;
const EVP_MD *EVP_sha256(void);
unsigned char *HMAC(const EVP_MD *m, const void *k, int kl, const unsigned char *d, size_t n, unsigned char *md, unsigned int *ml);
int CRYPTO_memcmp(const void *a, const void *b, size_t n);
BIO *BIO_new_mem_buf(const void *b, int n); int BIO_free(BIO *b);
EVP_PKEY *PEM_read_bio_PUBKEY(BIO *b, void *x, void *cb, void *u);
EVP_MD_CTX *EVP_MD_CTX_new(void); int EVP_MD_CTX_reset(EVP_MD_CTX *c);
int EVP_DigestVerifyInit(EVP_MD_CTX *c, void *pc, const EVP_MD *m, void *e, EVP_PKEY *k);
int EVP_DigestVerify(EVP_MD_CTX *c, const unsigned char *s, size_t sl, const unsigned char *d, size_t n);
]]

local M = {}
local sha256 = C.EVP_sha256()
local mac, maclen = ffi.new("unsigned char[32]"), ffi.new("unsigned int[1]")
local ctx, pkey, secret, iss, aud, alg_want, redis_port, script_sha

function M.setup(o)
  secret, iss, aud, alg_want, redis_port, script_sha = o.secret, o.iss, o.aud, o.alg, o.redis, o.sha
  if o.pubkey then
    local f = assert(io.open(o.pubkey)); local pem = f:read("*a"); f:close()
    local bio = C.BIO_new_mem_buf(pem, #pem)
    pkey = C.PEM_read_bio_PUBKEY(bio, nil, nil, nil)
    C.BIO_free(bio)
    assert(pkey ~= nil, "public key")
    ctx = C.EVP_MD_CTX_new()
  end
end

local function hs256(input, sig)
  C.HMAC(sha256, secret, #secret, input, #input, mac, maclen)
  return #sig == 32 and C.CRYPTO_memcmp(mac, sig, 32) == 0
end

local function der_int(s)
  local i = 1
  while i < #s and byte(s, i) == 0 do i = i + 1 end
  s = sub(s, i)
  if byte(s, 1) >= 128 then s = "\0" .. s end
  return "\2" .. string.char(#s) .. s
end

local function es256(input, sig)
  if #sig ~= 64 then return false end
  local body = der_int(sub(sig, 1, 32)) .. der_int(sub(sig, 33, 64))
  local der = "\48" .. string.char(#body) .. body
  C.EVP_MD_CTX_reset(ctx)
  if C.EVP_DigestVerifyInit(ctx, nil, sha256, nil, pkey) ~= 1 then return false end
  return C.EVP_DigestVerify(ctx, der, #der, input, #input) == 1
end

local function verify()
  local h = ngx.var.http_authorization
  if not h or sub(h, 1, 7) ~= "Bearer " then return nil end
  local d1 = find(h, ".", 8, true)
  local d2 = d1 and find(h, ".", d1 + 1, true)
  if not d2 then return nil end
  local head = cjson.decode(b64.decode_base64url(sub(h, 8, d1 - 1)) or "")
  if not head or head.alg ~= alg_want then return nil end
  local sig = b64.decode_base64url(sub(h, d2 + 1))
  if not sig then return nil end
  local input = sub(h, 8, d2 - 1)
  local ok
  if alg_want == "HS256" then ok = hs256(input, sig) else ok = es256(input, sig) end
  if not ok then return nil end
  local claims = cjson.decode(b64.decode_base64url(sub(h, d1 + 1, d2 - 1)) or "")
  if not claims or claims.iss ~= iss or claims.aud ~= aud then return nil end
  if type(claims.exp) ~= "number" or claims.exp < ngx.time() then return nil end
  return claims
end

local function redis_check(claims)
  local sock = ngx.socket.tcp()
  sock:settimeouts(500, 500, 500)
  local ok = sock:connect("127.0.0.1", redis_port, { pool_size = 128 })
  if not ok then return 503 end
  local now = ngx.now()
  local win = math.floor(now / 60)
  local key = "rl:{" .. claims.tenant .. ":" .. claims.sub .. "}:"
  local k1, k2 = key .. win, key .. (win - 1)
  local w = fmt("%.4f", 1 - (now / 60 - win))
  local jti = claims.jti
  sock:send({ "*8\r\n$7\r\nEVALSHA\r\n$40\r\n", script_sha, "\r\n$1\r\n2\r\n$", #k1, "\r\n", k1, "\r\n$", #k2, "\r\n", k2,
    "\r\n$", #w, "\r\n", w, "\r\n$6\r\n120000\r\n$9\r\n100000000\r\n*3\r\n$9\r\nSISMEMBER\r\n$7\r\nrevoked\r\n$", #jti, "\r\n", jti, "\r\n" })
  local r1, e1 = sock:receive("*l")
  if not r1 then return 503 end
  local r2 = sock:receive("*l")
  if not r2 then return 503 end
  sock:setkeepalive(300000, 128)
  if byte(r1) ~= 58 or byte(r2) ~= 58 then ngx.log(ngx.CRIT, r1, " ", r2) return 503 end
  if r1 == ":0" then return 429 end
  if r2 ~= ":0" then return 401 end
  return nil
end

function M.access(use_redis)
  local claims = verify()
  if not claims then return ngx.exit(401) end
  if use_redis then
    local deny = redis_check(claims)
    if deny then return ngx.exit(deny) end
  end
end

return M
