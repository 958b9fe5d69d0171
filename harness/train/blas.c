/*
 * How it works: OpenBLAS picks its kernel when it is loaded, from a list of
 * CPUs that it knows; on a newer CPU it takes one for the oldest. The name of a
 * better kernel goes into the environment and the program starts itself anew,
 * since the choice cannot be changed afterwards.
 */
#include "blas.h"

#include <cblas.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLAS_MAX_PATH = 4096 }; // PATH_MAX of Linux

static const char variable[] = "OPENBLAS_CORETYPE";

const char *blas_kernel(void)
{
    return openblas_get_corename();
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Kernels for AVX-512 and AVX2; NULL where one of them is in use, or where the
 * user has chosen. */
const char *blas_better_kernel(void)
{
    static const char *const with_avx512[] = {"SkylakeX", "Cooperlake",
                                              "SapphireRapids", NULL};
    static const char *const with_avx2[] = {
        "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    if (getenv(variable))
        return NULL;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        return is_one_of(blas_kernel(), with_avx512) ? NULL : "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return is_one_of(blas_kernel(), with_avx2) ? NULL : "Haswell";
#endif
    return NULL;
}

void blas_use_one_thread(void)
{
    openblas_set_num_threads(1);
}

/* Where anything fails the program goes on with the slower kernel: results are
 * right either way. */
void blas_choose(char *const *argv)
{
    const char *better = blas_better_kernel();
    if (!better || setenv(variable, better, 0) != 0)
        return;
    char
        path[BLAS_MAX_PATH]; // the link's target keeps the program's name in ps
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return;
    path[len] = '\0';
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv(path, argv);
}
