/* Loaded before libc: writes down every write and sync of the log's WAL, so that a test can compare their order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_wal(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static void note(int descriptor, const char *what) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    const char *spy = getenv("SYNC_SPY_FD");
    if (spy && is_wal(descriptor)) real(atoi(spy), what, 2);
}

int fsync(int descriptor) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    int result = real(descriptor);
    if (result == 0) note(descriptor, "S\n");
    return result;
}

int fdatasync(int descriptor) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    int result = real(descriptor);
    if (result == 0) note(descriptor, "S\n");
    return result;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    note(descriptor, "W\n");
    return real(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    note(descriptor, "W\n");
    return real(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    note(descriptor, "W\n");
    return real(descriptor, bytes, count);
}
