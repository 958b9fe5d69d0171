/*
 * bench: speed as ratios, measured in one run because the machine's own speed
 * drifts. A process is timed from its start to its end; the two of a pair run
 * in turn. A product is timed through the trainer's kernel and through OpenBLAS
 * alone, on the shapes of experiments/models/local.json.
 * usage: bench BUILD_FOLDER
 */
#include "blas.h"
#include "ops.h"

#include <cblas.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { ROUNDS = 31, PRODUCTS = 400 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

/* Wall time of one process with its output thrown away; exits on failure. */
static double run_s(char *const *argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    int status = 0;
    double start = now_s();
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "bench: '%s %s' failed\n", argv[0], argv[1]);
        exit(3);
    }
    double s = now_s() - start;
    posix_spawn_file_actions_destroy(&actions);
    return s;
}

static void pair(const char *claim, char *const *a, char *const *b)
{
    double ta[ROUNDS], tb[ROUNDS], ratio[ROUNDS];
    run_s(a);
    run_s(b);
    for (int i = 0; i < ROUNDS; i++) {
        ta[i] = run_s(a);
        tb[i] = run_s(b);
        ratio[i] = ta[i] / tb[i];
    }
    printf("%-44s %8.2f ms  beside %7.2f ms  ratio %6.2f\n", claim,
           median(ta, ROUNDS) * 1e3, median(tb, ROUNDS) * 1e3,
           median(ratio, ROUNDS));
}

/* Planning of the 816 layouts against the smallest thing the program does. */
static void bench_plan(const char *build)
{
    char program[512], costs[] = "/tmp/moe-bench-costs-XXXXXX";
    char model[] = "experiments/models/7b-a1b.json";
    snprintf(program, sizeof program, "%s/moe-layout", build);
    int fd = mkstemp(costs);
    char *make[] = {program, "costs", model, "--analytic", "-o", costs, NULL};
    char *version[] = {program, "--version", NULL};
    char *m32[] = {program, "plan", model,     "--pp", "4",
                   "--gbs", "32",   "--costs", costs,  "--standalone-mtp",
                   NULL};
    char *m128[] = {program, "plan", model,     "--pp", "4",
                    "--gbs", "128",  "--costs", costs,  "--standalone-mtp",
                    NULL};
    run_s(make);
    pair("plan 816 layouts, M 32, beside --version", m32, version);
    pair("plan 816 layouts, M 128, beside --version", m128, version);
    remove(costs);
    if (fd >= 0)
        fclose(fdopen(fd, "r"));
}

/* x (T,C) w (O,C)^T */
static const struct shape {
    const char *name;
    int t, c, o;
} shapes[] = {
    {"attention in", 96, 192, 288},  {"expert up", 24, 192, 512},
    {"expert down", 24, 256, 192},   {"output head", 96, 192, 7168},
    {"large square", 768, 768, 768},
};

static void bench_product(const struct shape *s)
{
    size_t nx = (size_t)(s->t * s->c), nw = (size_t)(s->o * s->c);
    float *x = calloc(nx, sizeof *x), *w = calloc(nw, sizeof *w);
    float *y = calloc((size_t)(s->t * s->o), sizeof *y);
    double ours[ROUNDS], alone[ROUNDS], ratio[ROUNDS];
    struct ops o = {0};
    if (!x || !w || !y)
        exit(3);
    double flops = 2.0 * s->t * s->c * s->o;
    int n = 1 + (int)(PRODUCTS * 1e6 / flops);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_s();
        for (int k = 0; k < n; k++)
            ops_linear(&o, mat_of(x, s->t, s->c), mat_of(w, s->o, s->c),
                       mat_of(y, s->t, s->o));
        double middle = now_s();
        for (int k = 0; k < n; k++)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s->t, s->o,
                        s->c, 1, x, s->c, w, s->c, 0, y, s->o);
        double end = now_s();
        ours[i] = n * flops / (middle - start) * 1e-9;
        alone[i] = n * flops / (end - middle) * 1e-9;
        ratio[i] = ours[i] / alone[i];
    }
    printf("%-14s (%3d,%3d) x (%4d,%3d)^T %15.1f GFLOP/s  beside %7.1f  "
           "ratio %5.2f\n",
           s->name, s->t, s->c, s->o, s->c, median(ours, ROUNDS),
           median(alone, ROUNDS), median(ratio, ROUNDS));
    free(x);
    free(w);
    free(y);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: bench BUILD_FOLDER\n");
        return 2;
    }
    blas_choose(argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("medians of %d rounds, pairs in turn; kernel %s\n\n", ROUNDS,
           blas_kernel());
    bench_plan(argv[1]);
    printf("\nthe trainer's product beside OpenBLAS alone\n");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        bench_product(&shapes[i]);
    return 0;
}
