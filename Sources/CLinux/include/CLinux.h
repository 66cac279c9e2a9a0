// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
// What Linux offers and Swift's Glibc module does not show. No feature macros here: they would change fd_set.
#ifndef SALLYPORT_CLINUX_H
#define SALLYPORT_CLINUX_H

#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

// accept4(2), non-blocking and close-on-exec.
int sp_accept4(int descriptor, struct sockaddr *address, socklen_t *length);
// prctl(PR_SET_PDEATHSIG).
int sp_prctl_set_parent_death_signal(int signal);
// malloc_trim(3).
int sp_malloc_trim(size_t pad);
// Redirects every job that Swift would give to its global pool; `enqueue` gets the job.
void sp_set_global_enqueue(void (*enqueue)(void *job));

#endif
