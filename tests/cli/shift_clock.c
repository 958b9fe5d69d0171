/*
 * Preloaded into a program under test: its wall clock is set forward or back
 * while it runs, by the seconds that stand in the file $SHIFT_CLOCK; the
 * monotonic clock stays, as it does on a machine whose time is set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long shift_s(void)
{
    const char *path = getenv("SHIFT_CLOCK");
    FILE *f = path ? fopen(path, "r") : NULL;
    long s = 0;
    if (f && fscanf(f, "%ld", &s) != 1)
        s = 0;
    if (f)
        fclose(f);
    return s;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, t);
    if (status == 0 && clock == CLOCK_REALTIME)
        t->tv_sec += shift_s();
    return status;
}

time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
