// Copyright (c) the Sallyport authors.
// Licensed under the Apache License, Version 2.0.
//
// Counts allocations of a process: LD_PRELOAD=mallocs.so MALLOCS_DIR=DIR. The file DIR/PID holds the count (8 bytes, native).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static uint64_t before_start, *count = &before_start;

static void one_more(void) { __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void start(void) {
    const char *directory = getenv("MALLOCS_DIR");
    char path[512];
    if (!directory) return;
    snprintf(path, sizeof path, "%s/%d", directory, (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *count)) return;
    void *mapped = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) count = mapped;
}

void *malloc(size_t size) { one_more(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { one_more(); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { one_more(); return __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { one_more(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { one_more(); return __libc_memalign(alignment, size); }
int posix_memalign(void **made, size_t alignment, size_t size) {
    one_more();
    void *block = __libc_memalign(alignment, size);
    if (!block) return ENOMEM;
    *made = block;
    return 0;
}

// A child that links another allocator (redis-server) must not mix the two.
void free(void *block) { __libc_free(block); }
size_t malloc_usable_size(void *block) {
    static size_t (*real)(void *);
    if (!real) real = (size_t (*)(void *))dlsym(dlopen("libc.so.6", RTLD_LAZY), "malloc_usable_size");
    return real(block);
}
