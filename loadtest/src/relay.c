// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
//
// relay: the practical floor. One thread, epoll, OpenSSL: terminates TLS 1.3 and
// copies bytes to one cleartext upstream connection per client. No HTTP parsing,
// no policy.   relay PORT UPSTREAM_PORT CERT KEY
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include "serve.h"

struct pair;
typedef struct { struct pair *p; int up, ev; } side;
typedef struct pair { int cfd, ufd, ok, dead; SSL *ssl; side c, u; char *cb, *ub; size_t cn, co, un, uo; struct pair *next; } pair;  // cb: toward client, ub: toward upstream
static int uport;
static SSL_CTX *ctx;
static char buf[65536];
static pair *graveyard;
static void mod(side *s, int ev) { if (s->ev != ev) rewatch(s->up ? s->p->ufd : s->p->cfd, s->ev = ev, s); }
static void add(side *s, int fd, int ev) { watch(fd, s->ev = ev, s); }
static void kill_pair(pair *p) { if (p->dead) return; p->dead = 1; if (p->ok) SSL_shutdown(p->ssl); SSL_free(p->ssl); ERR_clear_error(); close(p->cfd); if (p->ufd >= 0) close(p->ufd); p->next = graveyard; graveyard = p; }
static void stash(char **b, size_t *n, size_t *o, const char *d, size_t k) { *b = malloc(k); memcpy(*b, d, k); *n = k; *o = 0; }
static int ssl_err(pair *p, int r) { int e = SSL_get_error(p->ssl, r); return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE ? 0 : -1; }
static void to_client(pair *p, const char *d, size_t k) {
    int r = SSL_write(p->ssl, d, (int)k);
    if (r <= 0) { if (ssl_err(p, r) < 0) { kill_pair(p); return; } r = 0; }
    if ((size_t)r < k) { stash(&p->cb, &p->cn, &p->co, d + r, k - r); mod(&p->c, EPOLLIN | EPOLLOUT); mod(&p->u, 0); }
}
static void to_up(pair *p, const char *d, size_t k) {
    ssize_t r = send(p->ufd, d, k, MSG_NOSIGNAL);
    if (r < 0) { if (errno != EAGAIN) { kill_pair(p); return; } r = 0; }
    if ((size_t)r < k) { stash(&p->ub, &p->un, &p->uo, d + r, k - r); mod(&p->u, EPOLLIN | EPOLLOUT); mod(&p->c, p->cb ? EPOLLOUT : 0); }
}
static void client(pair *p, int ev) {
    if (!p->ok) {
        int r = SSL_do_handshake(p->ssl);
        if (r != 1) { if (ssl_err(p, r) < 0) kill_pair(p); return; }
        p->ok = 1;
        p->ufd = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = loopback(uport);
        if (connect(p->ufd, (void *)&a, sizeof a)) { kill_pair(p); return; }
        fcntl(p->ufd, F_SETFL, O_NONBLOCK);
        no_delay(p->ufd);
        add(&p->u, p->ufd, EPOLLIN);
        if (!SSL_pending(p->ssl) && !SSL_has_pending(p->ssl)) return;
    }
    if (p->cb && ev & EPOLLOUT) {
        int r = SSL_write(p->ssl, p->cb + p->co, (int)(p->cn - p->co));
        if (r <= 0) { if (ssl_err(p, r) < 0) { kill_pair(p); return; } r = 0; }
        p->co += r;
        if (p->co == p->cn) { free(p->cb); p->cb = 0; mod(&p->c, p->ub ? 0 : EPOLLIN); mod(&p->u, EPOLLIN | (p->ub ? EPOLLOUT : 0)); }
    }
    while (!p->ub) {
        int r = SSL_read(p->ssl, buf, sizeof buf);
        if (r <= 0) { if (ssl_err(p, r) < 0) kill_pair(p); return; }
        to_up(p, buf, r);
        if (p->dead || !SSL_has_pending(p->ssl)) return;
    }
}
static void upstream(pair *p, int ev) {
    if (p->ub && ev & EPOLLOUT) {
        ssize_t r = send(p->ufd, p->ub + p->uo, p->un - p->uo, MSG_NOSIGNAL);
        if (r < 0) { if (errno != EAGAIN) { kill_pair(p); return; } r = 0; }
        p->uo += r;
        if (p->uo == p->un) { free(p->ub); p->ub = 0; mod(&p->u, p->cb ? 0 : EPOLLIN); mod(&p->c, EPOLLIN | (p->cb ? EPOLLOUT : 0)); if (SSL_has_pending(p->ssl)) { client(p, 0); if (p->dead) return; } }
    }
    if (p->cb || !(ev & (EPOLLIN | EPOLLHUP))) return;
    ssize_t r = recv(p->ufd, buf, sizeof buf, 0);
    if (r > 0) to_client(p, buf, r); else if (r == 0 || errno != EAGAIN) kill_pair(p);
}
static void accepted(int fd) {
    pair *p = calloc(1, sizeof *p);
    p->cfd = fd; p->ufd = -1; p->c.p = p->u.p = p; p->u.up = 1;
    p->ssl = SSL_new(ctx); SSL_set_fd(p->ssl, fd); SSL_set_accept_state(p->ssl);
    add(&p->c, fd, EPOLLIN);
}
static void ready(void *data, int ev) {
    side *s = data;
    if (s->p->dead) return;
    if (s->up) upstream(s->p, ev); else client(s->p, ev);
}
static void bury(void) {
    while (graveyard) { pair *p = graveyard; graveyard = p->next; free(p->cb); free(p->ub); free(p); }
}
int main(int argc, char **argv) {
    if (argc < 5) return 2;
    uport = atoi(argv[2]);
    ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(ctx, 1);
    SSL_CTX_set_read_ahead(ctx, 1);
    static const unsigned char sid[] = "relay"; SSL_CTX_set_session_id_context(ctx, sid, 5);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_use_certificate_chain_file(ctx, argv[3]) != 1 || SSL_CTX_use_PrivateKey_file(ctx, argv[4], SSL_FILETYPE_PEM) != 1) { ERR_print_errors_fp(stderr); return 1; }
    return serve(atoi(argv[1]), 4096, accepted, ready, bury);
}
