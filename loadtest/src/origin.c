// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
//
// origin: one-thread epoll HTTP/1.1 keep-alive origin, cleartext.
//   origin PORT [BACKLOG]
// GET /1k /64k /1m answer 200 with a body of that size (anything else: 1 KiB);
// a request with a body is read to its end and answered 200 with 2 bytes;
// one to /v1/auth/ as a sign-in service answers.
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "serve.h"

enum { HEAD, LENGTH, CSIZE, CDATA, CCRLF, TRAILER };
typedef struct { int fd, state, head_len, line_len, has_body, close_after; long left; const char *out; size_t out_len; char line[32]; char head[16384]; } conn;
static char *resp[5]; static size_t resp_len[5];
static void make(int i, size_t n) {
    char h[256];
    int k = sprintf(h, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", n);
    resp[i] = malloc(k + n); memcpy(resp[i], h, k);
    for (size_t j = 0; j < n; j++) resp[i][k + j] = 'a' + j % 26;
    resp_len[i] = k + n;
}
static void drop(conn *c) { close(c->fd); free(c); }
static int flush_out(conn *c, int armed) {  // 1 done, 0 pending, -1 dropped
    while (c->out_len) {
        ssize_t r = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
        if (r < 0) { if (errno == EAGAIN) { if (!armed) rewatch(c->fd, EPOLLOUT, c); return 0; } drop(c); return -1; }
        c->out += r; c->out_len -= r;
    }
    if (armed) rewatch(c->fd, EPOLLIN, c);
    if (c->close_after) { drop(c); return -1; }
    return 1;
}
static int respond(conn *c) {
    int i = 0;
    if (c->has_body) { char *p = strchr(c->head, ' '); i = p && !strncmp(p, " /v1/auth/", 10) ? 4 : 3; }
    else { char *p = strchr(c->head, ' '); if (p) { if (!strncmp(p, " /64k", 5)) i = 1; else if (!strncmp(p, " /1m", 4)) i = 2; } }
    c->out = resp[i]; c->out_len = resp_len[i];
    c->state = HEAD; c->head_len = 0; c->has_body = 0;
    return flush_out(c, 0);
}
static char buf[1 << 17];
static void feed(conn *c, char *p, long n) {
    while (n > 0) switch (c->state) {
        case HEAD: {
            long k = n; if (c->head_len + k > 16383) k = 16383 - c->head_len;
            if (k <= 0) { drop(c); return; }
            int from = c->head_len > 3 ? c->head_len - 3 : 0;
            memcpy(c->head + c->head_len, p, k);
            char *e = memmem(c->head + from, c->head_len + k - from, "\r\n\r\n", 4);
            if (!e) { c->head_len += k; return; }
            long used = e + 4 - c->head - c->head_len;
            p += used; n -= used; c->head_len += used; c->head[c->head_len] = 0;
            long cl = -1; int chunked = 0;
            for (char *q = strstr(c->head, "\r\n"); q && q[2] != '\r'; q = strstr(q + 2, "\r\n")) {
                if (!strncasecmp(q + 2, "content-length:", 15)) cl = atol(q + 17);
                else if (!strncasecmp(q + 2, "transfer-encoding: chunked", 26)) chunked = 1;
                else if (!strncasecmp(q + 2, "connection: close", 17)) c->close_after = 1;
                else if (!strncasecmp(q + 2, "expect: 100", 11)) send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
            }
            if (chunked) { c->has_body = 1; c->state = CSIZE; c->line_len = 0; }
            else if (cl > 0) { c->has_body = 1; c->left = cl; c->state = LENGTH; }
            else if (respond(c) < 0) return;
            break;
        }
        case LENGTH: { long k = n < c->left ? n : c->left; p += k; n -= k; c->left -= k; if (!c->left && respond(c) < 0) return; break; }
        case CSIZE: { char ch = *p++; n--; if (ch == '\n') { c->line[c->line_len] = 0; c->left = strtol(c->line, 0, 16); c->line_len = 0; c->state = c->left ? CDATA : TRAILER; } else if (c->line_len < 30) c->line[c->line_len++] = ch; break; }
        case CDATA: { long k = n < c->left ? n : c->left; p += k; n -= k; c->left -= k; if (!c->left) { c->state = CCRLF; c->left = 2; } break; }
        case CCRLF: p++; n--; if (!--c->left) c->state = CSIZE; break;
        case TRAILER: { char ch = *p++; n--; if (ch == '\n') { if (c->line_len <= 1) { if (respond(c) < 0) return; } else c->line_len = 0; } else c->line_len++; break; }
    }
}
static void accepted(int fd) {
    conn *c = calloc(1, sizeof *c);
    c->fd = fd;
    watch(fd, EPOLLIN, c);
}
static void ready(void *data, int ev) {
    conn *c = data;
    (void)ev;
    if (c->out_len) { flush_out(c, 1); return; }
    ssize_t r = recv(c->fd, buf, sizeof buf, 0);
    if (r > 0) feed(c, buf, r);
    else if (r == 0 || errno != EAGAIN) drop(c);
}
int main(int argc, char **argv) {
    if (argc < 2) return 2;
    make(0, 1024); make(1, 65536); make(2, 1 << 20); make(3, 2);
    static const char signed_in[] = "{\"message\":\"OK\",\"data\":{\"user\":{\"id\":17},\"token\":\"sess_0123456789abcdefghijklmnopqrstuv\"}}";
    make(4, sizeof signed_in - 1); memcpy(resp[4] + resp_len[4] - (sizeof signed_in - 1), signed_in, sizeof signed_in - 1);
    return serve(atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 4096, accepted, ready, 0);
}
