/* Loaded before libc: the wall clock, as every part of the process asks for it, is CLOCK_AHEAD_SECONDS ahead, or as many
   seconds as stand in the file that CLOCK_AHEAD_FILE names, which is read each time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
    const char *seconds = getenv("CLOCK_AHEAD_SECONDS"), *path = getenv("CLOCK_AHEAD_FILE");
    char text[32];
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return seconds ? atol(seconds) : 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int result = real(now, zone);
    if (result == 0) now->tv_sec += ahead();
    return result;
}

time_t time(time_t *now) {
    static time_t (*real)(time_t *);
    if (!real) real = dlsym(RTLD_NEXT, "time");
    time_t seconds = real(NULL) + ahead();
    if (now) *now = seconds;
    return seconds;
}
