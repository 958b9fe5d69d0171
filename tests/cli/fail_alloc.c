/*
 * Preloaded into a program under test: its FAIL_AT-th request for memory or for
 * an open file is refused, as a machine does that has no more of it. Only calls
 * out of the program itself are counted, not those of its libraries, which
 * answer in their own ways. With FAIL_COUNT=PATH the number of requests is
 * written there at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's own names of what is replaced here. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static uintptr_t begin, end; // of the program in memory
static long n_calls, fail_at;

/* The first object that is listed is the program. */
static int note_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD)
            continue;
        begin = at < begin ? at : begin;
        end = at + h->p_memsz > end ? at + h->p_memsz : end;
    }
    return 1;
}

__attribute__((constructor)) static void fail_alloc_start(void)
{
    const char *text = getenv("FAIL_AT");
    fail_at = text ? strtol(text, NULL, 10) : 0;
    dl_iterate_phdr(note_program, NULL);
}

__attribute__((destructor)) static void fail_alloc_end(void)
{
    const char *path = getenv("FAIL_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%ld\n", n_calls);
        fclose(f);
    }
}

static bool refuses(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (at < begin || at >= end || ++n_calls != fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL
                                                : __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return refuses(__builtin_return_address(0)) ? NULL
                                                : __libc_memalign(align, bytes);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "fopen");
    return refuses(__builtin_return_address(0)) ? NULL : next(path, mode);
}
