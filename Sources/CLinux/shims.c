// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
#define _GNU_SOURCE
#include "CLinux.h"

#include <malloc.h>
#include <sys/prctl.h>

int sp_accept4(int descriptor, struct sockaddr *address, socklen_t *length) {
    return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int sp_prctl_set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

int sp_malloc_trim(size_t pad) { return malloc_trim(pad); }

// The Swift runtime exports this hook; both it and what it calls use Swift's calling convention.
typedef __attribute__((swiftcall)) void (*sp_enqueue_original)(void *job);
typedef __attribute__((swiftcall)) void (*sp_enqueue_hook)(void *job, sp_enqueue_original original);
extern sp_enqueue_hook swift_task_enqueueGlobal_hook;

static void (*global_enqueue)(void *job);

static __attribute__((swiftcall)) void enqueue_global(void *job, sp_enqueue_original original) {
    (void)original;
    global_enqueue(job);
}

void sp_set_global_enqueue(void (*enqueue)(void *job)) {
    global_enqueue = enqueue;
    swift_task_enqueueGlobal_hook = enqueue_global;
}
