// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
// What Linux offers and Swift's Glibc module does not show. No feature macros here: they would change fd_set.
#ifndef SALLYPORT_CLINUX_H
#define SALLYPORT_CLINUX_H

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#endif
