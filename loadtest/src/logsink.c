// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
//
// logsink SOCKET: reads datagrams as a syslog service does, and throws them away.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof a.sun_path, "%s", argv[1]);
    unlink(argv[1]);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), room = 8 << 20;
    if (bind(fd, (void *)&a, sizeof a)) { perror(argv[1]); return 1; }
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    puts("READY");
    fflush(stdout);
    static char data[64][2048];
    struct iovec parts[64];
    struct mmsghdr messages[64];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 64; i++) {
        parts[i] = (struct iovec){ data[i], sizeof data[i] };
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    while (recvmmsg(fd, messages, 64, MSG_WAITFORONE, 0) > 0) {}
    return 0;
}
