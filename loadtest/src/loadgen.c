// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
//
// loadgen: one-thread epoll HTTP/1.1 client over TLS 1.3 or cleartext.
//
//   loadgen --port P [--tls] --mode ka|conn|idle [--conns N] [--duration S]
//           [--rate R] [--path /1k] [--host NAME] [--hdr 'K: V']...
//           [--rotate FILE --rotate-prefix 'Authorization: Bearer ']
//           [--body BYTES] [--resume] [--from ADDRESS [--spread N]] [--requests N]
//   loadgen --mint HS256|ES256 --key FILE --count N --iss I --aud A --exp T
//
// ka:   keep-alive connections; closed loop, or open loop at --rate requests/s
//       with latency counted from the scheduled time (no coordinated omission).
// conn: a new connection per request; --resume offers the last session ticket.
// idle: opens all connections, one request on each, prints READY, holds them
//       until stdin closes.
// Prints one JSON object.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTING, HANDSHAKE, READY, SENDING, READING, CLOSED };
enum { B_HEAD, B_LENGTH, B_CHUNK_SIZE, B_CHUNK_DATA, B_CHUNK_CRLF, B_TRAILER, B_CLOSE };

typedef struct {
    int fd, state, body_state, events, status, server_close, head_len, line_len, uses;
    SSL *ssl;
    SSL_SESSION *session;
    uint64_t start;
    long left;
    char *out;
    size_t out_len, out_pos, body_left;
    char head[16384];
    char line[64];
} conn;

static int opt_port, opt_tls, opt_conns = 64, opt_resume, opt_spread = 1;
static const char *opt_from, *opt_mode = "ka", *opt_path = "/1k", *opt_host = "gw.test", *opt_rotate, *opt_prefix = "Authorization: Bearer ";
static double opt_duration = 4, opt_rate;
static size_t opt_body;
static uint64_t opt_requests, begun;
static char extra[8192];
static SSL_CTX *ctx;
static int ep;
static char **tokens;
static size_t ntokens, next_token;
static char *upload;
static uint64_t t0, t_end, done_n, err_n, hs_n, resumed_n, bytes_in, bytes_out, non2xx;
static uint64_t status_n[600];
static uint32_t *lat;
static size_t lat_n, lat_cap;
static int established, stopping;
static char last_err[256];
// open-loop schedule
static uint64_t next_due, interval_ns;
static conn **ready;
static int nready;

static uint64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static void die(const char *m) { perror(m); exit(2); }

static int new_session(SSL *s, SSL_SESSION *sess) {
    conn *c = SSL_get_app_data(s);
    if (c->session) SSL_SESSION_free(c->session);
    c->session = sess;
    return 1;
}

static void want(conn *c, int ev) {
    if (c->events == ev) return;
    struct epoll_event e = { .events = ev, .data.ptr = c };
    epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
    c->events = ev;
}

static void open_conn(conn *c) {
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket");
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(opt_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (opt_from) {
        struct sockaddr_in from = { .sin_family = AF_INET };
        inet_pton(AF_INET, opt_from, &from.sin_addr);
        static unsigned turn;
        from.sin_addr.s_addr = htonl(ntohl(from.sin_addr.s_addr) + turn++ % opt_spread);
        if (bind(c->fd, (void *)&from, sizeof from) < 0) die("bind");
    }
    if (connect(c->fd, (void *)&a, sizeof a) < 0 && errno != EINPROGRESS) die("connect");
    c->state = CONNECTING;
    c->events = EPOLLOUT;
    struct epoll_event e = { .events = EPOLLOUT, .data.ptr = c };
    if (epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e) < 0) die("epoll_ctl");
    if (opt_tls) {
        c->ssl = SSL_new(ctx);
        SSL_set_app_data(c->ssl, c);
        SSL_set_fd(c->ssl, c->fd);
        SSL_set_tlsext_host_name(c->ssl, opt_host);
        SSL_set_connect_state(c->ssl);
        if (opt_resume && c->session) SSL_set_session(c->ssl, c->session);
    }
}

static void close_conn(conn *c) {
    if (c->state == CLOSED) return;
    if (c->ssl) { SSL_shutdown(c->ssl); SSL_free(c->ssl); c->ssl = 0; ERR_clear_error(); }
    close(c->fd);
    c->state = CLOSED;
}

static void fail(conn *c, const char *why) {
    err_n++;
    unsigned long e = ERR_peek_error();
    snprintf(last_err, sizeof last_err, "%s: %s", why, e ? ERR_reason_error_string(e) : strerror(errno));
    ERR_clear_error();
    if (c->ssl) { SSL_free(c->ssl); c->ssl = 0; }
    close(c->fd);
    c->state = CLOSED;
    if (err_n > 20000) { stopping = 1; return; }
    if (!stopping) open_conn(c);
}

// >0 bytes, 0 would block, -1 error, -2 orderly end
static long tx(conn *c, const char *p, size_t n) {
    if (c->ssl) {
        int r = SSL_write(c->ssl, p, n > (1 << 20) ? (1 << 20) : (int)n);
        if (r > 0) return r;
        int e = SSL_get_error(c->ssl, r);
        if (e == SSL_ERROR_WANT_WRITE || e == SSL_ERROR_WANT_READ) return 0;
        return -1;
    }
    ssize_t r = send(c->fd, p, n, MSG_NOSIGNAL);
    if (r > 0) return r;
    return errno == EAGAIN ? 0 : -1;
}
static long rx(conn *c, char *p, size_t n) {
    if (c->ssl) {
        int r = SSL_read(c->ssl, p, (int)n);
        if (r > 0) return r;
        int e = SSL_get_error(c->ssl, r);
        if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) return 0;
        return e == SSL_ERROR_ZERO_RETURN ? -2 : -1;
    }
    ssize_t r = recv(c->fd, p, n, 0);
    if (r > 0) return r;
    if (r == 0) return -2;
    return errno == EAGAIN ? 0 : -1;
}

static void do_send(conn *c);
static void begin(conn *c, uint64_t at) {
    if (opt_requests && begun++ >= opt_requests) { want(c, EPOLLIN); c->state = READY; return; }
    if (!c->out) c->out = malloc(16384);
    c->out_len = snprintf(c->out, 16384, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", opt_body ? "POST" : "GET", opt_path, opt_host, extra);
    if (ntokens) {
        c->out_len += snprintf(c->out + c->out_len, 16384 - c->out_len, "%s%s\r\n", opt_prefix, tokens[next_token]);
        if (++next_token == ntokens) next_token = 0;
    }
    if (opt_body) c->out_len += snprintf(c->out + c->out_len, 16384 - c->out_len, "Content-Type: application/octet-stream\r\nContent-Length: %zu\r\n", opt_body);
    memcpy(c->out + c->out_len, "\r\n", 2);
    c->out_len += 2;
    c->out_pos = 0;
    c->body_left = opt_body;
    c->head_len = 0;
    c->body_state = B_HEAD;
    c->server_close = 0;
    c->start = at;
    c->state = SENDING;
    do_send(c);
}

static void do_send(conn *c) {
    while (c->out_pos < c->out_len) {
        long r = tx(c, c->out + c->out_pos, c->out_len - c->out_pos);
        if (r < 0) { fail(c, "write"); return; }
        if (r == 0) { want(c, EPOLLOUT | EPOLLIN); return; }
        c->out_pos += r; bytes_out += r;
    }
    while (c->body_left) {
        size_t off = opt_body - c->body_left, n = c->body_left > 65536 ? 65536 : c->body_left;
        long r = tx(c, upload + off, n);
        if (r < 0) { fail(c, "write body"); return; }
        if (r == 0) { want(c, EPOLLOUT | EPOLLIN); return; }
        c->body_left -= r; bytes_out += r;
    }
    c->state = READING;
    want(c, EPOLLIN);
}

static void record(conn *c, uint64_t t) {
    done_n++;
    if (c->status >= 0 && c->status < 600) status_n[c->status]++;
    if (c->status < 200 || c->status > 299) non2xx++;
    if (lat_n == lat_cap) { lat_cap = lat_cap ? lat_cap * 2 : 1 << 18; lat = realloc(lat, lat_cap * sizeof *lat); }
    lat[lat_n++] = (uint32_t)((t - c->start) / 100);  // 0.1 us units
}

static void finished(conn *c) {
    uint64_t t = now();
    record(c, t);
    c->uses++;
    c->state = READY;
    if (!strcmp(opt_mode, "idle")) { established++; want(c, EPOLLIN); return; }
    if (!strcmp(opt_mode, "conn")) { close_conn(c); if (!stopping) open_conn(c); return; }
    if (c->server_close) { close_conn(c); if (!stopping) open_conn(c); return; }
    if (opt_requests && done_n == opt_requests) stopping = 1;
    if (stopping) return;
    if (interval_ns) { want(c, EPOLLIN); ready[nready++] = c; return; }
    begin(c, t);
}

static int parse_head(conn *c) {
    c->head[c->head_len] = 0;
    c->status = atoi(c->head + 9);
    c->left = -1;
    int chunked = 0;
    char *p = strstr(c->head, "\r\n");
    while (p && p[2] != '\r') {
        p += 2;
        if (!strncasecmp(p, "content-length:", 15)) c->left = atol(p + 15);
        else if (!strncasecmp(p, "transfer-encoding: chunked", 26)) chunked = 1;
        else if (!strncasecmp(p, "connection: close", 17)) c->server_close = 1;
        p = strstr(p, "\r\n");
    }
    if (c->status == 100) { c->head_len = 0; return 0; }
    if (chunked) { c->body_state = B_CHUNK_SIZE; c->line_len = 0; }
    else if (c->left >= 0) c->body_state = B_LENGTH;
    else if (c->status == 204 || c->status == 304) { c->left = 0; c->body_state = B_LENGTH; }
    else c->body_state = B_CLOSE;
    return 1;
}

// returns 1 when the response is complete
static int feed(conn *c, const char *p, long n) {
    while (n > 0 || (c->body_state == B_LENGTH && c->left == 0)) {
        switch (c->body_state) {
        case B_HEAD: {
            long k = n;
            if (c->head_len + k >= (long)sizeof c->head) k = sizeof c->head - 1 - c->head_len;
            if (k <= 0) { errno = EMSGSIZE; return -1; }
            int from = c->head_len > 3 ? c->head_len - 3 : 0;
            memcpy(c->head + c->head_len, p, k);
            char *e = memmem(c->head + from, c->head_len + k - from, "\r\n\r\n", 4);
            if (!e) { c->head_len += k; p += k; n -= k; break; }
            long used = (e + 4 - c->head) - c->head_len;
            c->head_len += used; p += used; n -= used;
            parse_head(c);
            break;
        }
        case B_LENGTH:
            if (n >= c->left) return 1;
            c->left -= n; return 0;
        case B_CHUNK_SIZE:
            while (n > 0) {
                char ch = *p++; n--;
                if (ch == '\n') { c->line[c->line_len] = 0; c->left = strtol(c->line, 0, 16); c->line_len = 0;
                    c->body_state = c->left ? B_CHUNK_DATA : B_TRAILER; break; }
                if (c->line_len < 60) c->line[c->line_len++] = ch;
            }
            break;
        case B_CHUNK_DATA: {
            long k = n < c->left ? n : c->left;
            c->left -= k; p += k; n -= k;
            if (!c->left) { c->body_state = B_CHUNK_CRLF; c->left = 2; }
            break;
        }
        case B_CHUNK_CRLF:
            while (n > 0 && c->left) { p++; n--; c->left--; }
            if (!c->left) c->body_state = B_CHUNK_SIZE;
            break;
        case B_TRAILER:
            while (n > 0) {
                char ch = *p++; n--;
                if (ch == '\n') { if (c->line_len <= 1) return 1; c->line_len = 0; }
                else c->line_len++;
            }
            break;
        case B_CLOSE: return 0;
        }
    }
    return 0;
}

static char rbuf[1 << 17];
static void do_read(conn *c) {
    for (;;) {
        long r = rx(c, rbuf, sizeof rbuf);
        if (r == 0) { if (c->state == READING) want(c, EPOLLIN); return; }
        if (r < 0) {
            if (c->state == READING && c->body_state == B_CLOSE && r == -2) { c->server_close = 1; finished(c); return; }
            if (c->state == READY && !strcmp(opt_mode, "idle")) { established--; }
            if (c->state == READY && interval_ns) { for (int i = 0; i < nready; i++) if (ready[i] == c) { ready[i] = ready[--nready]; break; } }
            if (stopping) { close_conn(c); return; }
            fail(c, "read"); return;
        }
        bytes_in += r;
        if (c->state == READY) continue;
        int d = feed(c, rbuf, r);
        if (d < 0) { fail(c, "parse"); return; }
        if (d == 1) { finished(c); return; }
    }
}

static void up(conn *c) {  // connection established
    if (opt_tls) { hs_n++; if (SSL_session_reused(c->ssl)) resumed_n++; }
    if (interval_ns) { c->state = READY; want(c, EPOLLIN); ready[nready++] = c; return; }
    begin(c, now());
}

static void handshake(conn *c) {
    if (c->state == CONNECTING) {
        int e = 0; socklen_t l = sizeof e;
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &l);
        if (e) { errno = e; fail(c, "connect"); return; }
        if (!strcmp(opt_mode, "conn") || !strcmp(opt_mode, "idle")) c->start = now();
        c->state = HANDSHAKE;
        if (!opt_tls) { up(c); return; }
    }
    int r = SSL_do_handshake(c->ssl);
    if (r == 1) { up(c); return; }
    int e = SSL_get_error(c->ssl, r);
    if (e == SSL_ERROR_WANT_READ) want(c, EPOLLIN);
    else if (e == SSL_ERROR_WANT_WRITE) want(c, EPOLLOUT);
    else fail(c, "handshake");
}

static int cmp(const void *a, const void *b) { uint32_t x = *(uint32_t *)a, y = *(uint32_t *)b; return x < y ? -1 : x > y; }
static double pct(double q) { return lat_n ? lat[(size_t)(q * (lat_n - 1))] / 10.0 : 0; }

// ---- token minting -------------------------------------------------------
static size_t b64u(const unsigned char *in, size_t n, char *out) {
    static const char A[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t o = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = in[i] << 16 | (i + 1 < n ? in[i + 1] << 8 : 0) | (i + 2 < n ? in[i + 2] : 0);
        out[o++] = A[v >> 18]; out[o++] = A[v >> 12 & 63];
        if (i + 1 < n) out[o++] = A[v >> 6 & 63];
        if (i + 2 < n) out[o++] = A[v & 63];
    }
    out[o] = 0;
    return o;
}
static int mint(const char *alg, const char *keyfile, int count, const char *iss, const char *aud, const char *more, long exp) {
    EVP_PKEY *pk = 0;
    unsigned char secret[256]; size_t slen = 0;
    FILE *f = fopen(keyfile, "r");
    if (!f) die(keyfile);
    if (alg[0] == 'E') { pk = PEM_read_PrivateKey(f, 0, 0, 0); if (!pk) die("key"); }
    else slen = fread(secret, 1, sizeof secret, f);
    fclose(f);
    for (int i = 0; i < count; i++) {
        char j[1024], tok[2048];
        int n = snprintf(j, sizeof j, "{\"alg\":\"%s\",\"typ\":\"JWT\",\"kid\":\"k1\"}", alg);
        size_t o = b64u((unsigned char *)j, n, tok);
        tok[o++] = '.';
        n = snprintf(j, sizeof j, "{\"iss\":\"%s\",\"aud\":\"%s\",\"sub\":\"user-%06d\",\"tenant\":\"tenant-%02d\",\"scope\":\"read write\",\"jti\":\"%08x-%04d\",\"iat\":%ld,\"exp\":%ld%s}", iss, aud, i, i % 16, i * 2654435761u, i, exp - 86400, exp, more);
        o += b64u((unsigned char *)j, n, tok + o);
        unsigned char sig[64]; size_t sl;
        if (pk) {
            EVP_MD_CTX *m = EVP_MD_CTX_new();
            unsigned char der[128]; size_t dl = sizeof der;
            EVP_DigestSignInit(m, 0, EVP_sha256(), 0, pk);
            EVP_DigestSign(m, der, &dl, (unsigned char *)tok, o);
            EVP_MD_CTX_free(m);
            const unsigned char *dp = der;
            ECDSA_SIG *es = d2i_ECDSA_SIG(0, &dp, dl);
            BN_bn2binpad(ECDSA_SIG_get0_r(es), sig, 32);
            BN_bn2binpad(ECDSA_SIG_get0_s(es), sig + 32, 32);
            ECDSA_SIG_free(es);
            sl = 64;
        } else {
            unsigned hl = 32;
            HMAC(EVP_sha256(), secret, (int)slen, (unsigned char *)tok, o, sig, &hl);
            sl = 32;
        }
        tok[o++] = '.';
        b64u(sig, sl, tok + o);
        puts(tok);
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *m_alg = 0, *m_key = 0, *m_iss = "https://issuer.test", *m_aud = "api", *m_more = "";
    int m_count = 1; long m_exp = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
#define V (i + 1 < argc ? argv[++i] : "")
        if (!strcmp(a, "--port")) opt_port = atoi(V);
        else if (!strcmp(a, "--tls")) opt_tls = 1;
        else if (!strcmp(a, "--mode")) opt_mode = V;
        else if (!strcmp(a, "--conns")) opt_conns = atoi(V);
        else if (!strcmp(a, "--duration")) opt_duration = atof(V);
        else if (!strcmp(a, "--rate")) opt_rate = atof(V);
        else if (!strcmp(a, "--path")) opt_path = V;
        else if (!strcmp(a, "--host")) opt_host = V;
        else if (!strcmp(a, "--hdr")) { strncat(extra, V, 4000); strcat(extra, "\r\n"); }
        else if (!strcmp(a, "--rotate")) opt_rotate = V;
        else if (!strcmp(a, "--rotate-prefix")) opt_prefix = V;
        else if (!strcmp(a, "--body")) opt_body = atol(V);
        else if (!strcmp(a, "--requests")) opt_requests = atoll(V);  // ends after so many, if that is sooner
        else if (!strcmp(a, "--resume")) opt_resume = 1;
        else if (!strcmp(a, "--from")) opt_from = V;  // the address that connections come from
        else if (!strcmp(a, "--spread")) opt_spread = atoi(V);  // so many addresses from there on, in turn
        else if (!strcmp(a, "--mint")) m_alg = V;
        else if (!strcmp(a, "--key")) m_key = V;
        else if (!strcmp(a, "--count")) m_count = atoi(V);
        else if (!strcmp(a, "--iss")) m_iss = V;
        else if (!strcmp(a, "--aud")) m_aud = V;
        else if (!strcmp(a, "--more")) m_more = V;  // further claims, each with a comma before it
        else if (!strcmp(a, "--exp")) m_exp = atol(V);
        else { fprintf(stderr, "unknown option %s\n", a); return 2; }
    }
    if (m_alg) return mint(m_alg, m_key, m_count, m_iss, m_aud, m_more, m_exp);
    if (opt_rotate) {
        FILE *f = fopen(opt_rotate, "r");
        if (!f) die(opt_rotate);
        char *l = 0; size_t cap = 0; ssize_t n;
        while ((n = getline(&l, &cap, f)) > 0) {
            while (n && (l[n - 1] == '\n' || l[n - 1] == '\r')) l[--n] = 0;
            tokens = realloc(tokens, (ntokens + 1) * sizeof *tokens);
            char *t = malloc(2 * n + 1), *w = t;  // a tab in a line starts another header line
            for (ssize_t k = 0; k < n; k++) { if (l[k] == '\t') { *w++ = '\r'; *w++ = '\n'; } else *w++ = l[k]; }
            *w = 0;
            tokens[ntokens++] = t;
        }
        fclose(f);
    }
    if (opt_body) { upload = malloc(opt_body); for (size_t i = 0; i < opt_body; i++) upload[i] = (char)(i * 131 >> 3); }
    if (opt_tls) {
        ctx = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
        SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256");
        SSL_CTX_set1_groups_list(ctx, "X25519");
        SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, 0);
        SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (strcmp(opt_mode, "idle")) { SSL_CTX_set_read_ahead(ctx, 1); SSL_CTX_set_default_read_buffer_len(ctx, 65536); }
        else SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
        static const unsigned char alpn[] = "\x08http/1.1";
        SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn - 1);
        if (opt_resume) { SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL); SSL_CTX_sess_set_new_cb(ctx, new_session); }
    }
    ep = epoll_create1(EPOLL_CLOEXEC);
    conn *cs = calloc(opt_conns, sizeof *cs);
    ready = calloc(opt_conns + 1, sizeof *ready);
    if (opt_rate > 0) interval_ns = (uint64_t)(1e9 / opt_rate);
    int idle = !strcmp(opt_mode, "idle");
    int opened = 0;
    t0 = now();
    if (idle) t_end = t0 + 60000000000ull;
    else { t_end = t0 + (uint64_t)(opt_duration * 1e9); for (; opened < opt_conns; opened++) open_conn(&cs[opened]); }
    next_due = t0 + 50000000;  // let connections come up first
    struct epoll_event ev[256];
    while (!stopping) {
        uint64_t t = now();
        if (t >= t_end) break;
        if (idle) {
            while (opened < opt_conns && opened - established < 64) open_conn(&cs[opened++]);
            if (established == opt_conns) break;
        }
        uint64_t until = t_end;
        if (interval_ns) {
            while (nready && next_due <= t) { conn *c = ready[--nready]; uint64_t at = next_due; next_due += interval_ns; begin(c, at); }
            if (nready && next_due < until) until = next_due;
        }
        if (until - t > 200000000ull) until = t + 200000000ull;
        struct timespec ts = { 0, (long)(until > t ? until - t : 0) };
        int n = epoll_pwait2(ep, ev, 256, &ts, 0);
        for (int i = 0; i < n; i++) {
            conn *c = ev[i].data.ptr;
            if (c->state == CLOSED) continue;
            if (c->state == CONNECTING || c->state == HANDSHAKE) { handshake(c); continue; }
            if (c->state == SENDING) { if (ev[i].events & EPOLLIN && opt_tls == 0) { do_read(c); if (c->state != SENDING) continue; } do_send(c); continue; }
            if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) do_read(c);
        }
    }
    uint64_t t1 = now();
    if (idle) {
        printf("READY %d errors %llu setup_s %.3f\n", established, (unsigned long long)err_n, (t1 - t0) / 1e9);
        if (last_err[0]) fprintf(stderr, "%s\n", last_err);
        fflush(stdout);
        char b[16];
        while (read(0, b, sizeof b) > 0) {}
        return 0;
    }
    stopping = 1;
    qsort(lat, lat_n, sizeof *lat, cmp);
    double sum = 0;
    for (size_t i = 0; i < lat_n; i++) sum += lat[i] / 10.0;
    double w = (t1 - t0) / 1e9;
    printf("{\"requests\":%llu,\"errors\":%llu,\"non2xx\":%llu,\"wall\":%.4f,\"rps\":%.1f,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"mean_us\":%.1f,\"handshakes\":%llu,\"resumed\":%llu,\"bytes_in\":%llu,\"bytes_out\":%llu,\"status\":{",
        (unsigned long long)done_n, (unsigned long long)err_n, (unsigned long long)non2xx, w, done_n / w, pct(.5), pct(.9), pct(.99), pct(.999), pct(1), lat_n ? sum / lat_n : 0,
        (unsigned long long)hs_n, (unsigned long long)resumed_n, (unsigned long long)bytes_in, (unsigned long long)bytes_out);
    int first = 1;
    for (int i = 0; i < 600; i++) if (status_n[i]) { printf("%s\"%d\":%llu", first ? "" : ",", i, (unsigned long long)status_n[i]); first = 0; }
    printf("},\"last_error\":\"%s\"}\n", last_err);
    fflush(stdout);
    for (int i = 0; i < opt_conns; i++) close_conn(&cs[i]);
    return 0;
}
