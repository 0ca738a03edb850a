/* Loaded before libc: while the file that DISK_FULL names exists, no shard can be written, as on a full disk.
   The first write that is refused makes a file beside it, NAME.refused. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_full(int file) {
    const char *flag = getenv("DISK_FULL");
    if (!flag || access(flag, F_OK) != 0) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    if (!strstr(path, "/shards/")) return 0;
    snprintf(path, sizeof path, "%s.refused", flag);
    int told = open(path, O_CREAT | O_WRONLY, 0600);
    if (told >= 0) close(told);
    return 1;
}

#define FULL(file) if (is_full(file)) { errno = ENOSPC; return -1; }

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    FULL(file)
    return real(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite");
    FULL(file)
    return real(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    FULL(file)
    return real(file, bytes, count, offset);
}
