// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
//
// What the small servers of the load test share: one thread, one epoll, one listener on the loopback.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int ep;

static void no_delay(int fd) { int one = 1; setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); }
static void watch(int fd, int ev, void *data) { struct epoll_event e = { .events = ev, .data.ptr = data }; epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e); }
static void rewatch(int fd, int ev, void *data) { struct epoll_event e = { .events = ev, .data.ptr = data }; epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e); }
static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

// Serves for ever: `accepted` takes each new connection, `ready` the pointer that was given to `watch`; `turn_ended`, where
// there is one, comes after each batch of events.
static int serve(int port, int backlog, void (*accepted)(int fd), void (*ready)(void *data, int ev), void (*turn_ended)(void)) {
    signal(SIGPIPE, SIG_IGN);
    int l = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in a = loopback(port);
    if (bind(l, (void *)&a, sizeof a) || listen(l, backlog)) { perror("bind"); return 1; }
    ep = epoll_create1(0);
    watch(l, EPOLLIN, 0);
    struct epoll_event ev[256];
    for (;;) {
        int n = epoll_wait(ep, ev, 256, -1), fd;
        for (int i = 0; i < n; i++) {
            if (ev[i].data.ptr) { ready(ev[i].data.ptr, ev[i].events); continue; }
            while ((fd = accept4(l, 0, 0, SOCK_NONBLOCK)) >= 0) { no_delay(fd); accepted(fd); }
        }
        if (turn_ended) turn_ended();
    }
}
