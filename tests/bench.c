/*
 * bench: speed as ratios, measured in one run because the machine's own speed
 * drifts. A process is timed from its start to its end; the two of a pair run
 * in turn. A product is timed through the trainer's kernel and through OpenBLAS
 * alone, on the shapes of experiments/models/local.json. A log of 1 GB is read
 * beside `wc -l`. One layout of 32 stages is simulated among others, beside the
 * 63 ms that Primus' simulator (in Python) takes for one on such a machine.
 * usage: bench BUILD_FOLDER
 */
#include "sim/sim.h"
#include "train/blas.h"
#include "train/ops.h"

#include <cblas.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Wall time of one process with its output thrown away; exits on failure.
 * *peak_kb, where wanted, grows to its largest resident set. */
static double run_s(char *const *argv, long *peak_kb)
{
    struct rusage used;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    int status = 0;
    double start = now_s();
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
        wait4(pid, &status, 0, &used) != pid || status != 0) {
        fprintf(stderr, "bench: '%s %s' failed\n", argv[0], argv[1]);
        exit(3);
    }
    double s = now_s() - start;
    posix_spawn_file_actions_destroy(&actions);
    if (peak_kb && used.ru_maxrss > *peak_kb)
        *peak_kb = used.ru_maxrss;
    return s;
}

/* Returns the largest resident set of the first, KB. */
static long pair(const char *claim, char *const *a, char *const *b, int rounds)
{
    double ta[ROUNDS], tb[ROUNDS], ratio[ROUNDS];
    long peak_kb = 0;
    run_s(a, NULL);
    run_s(b, NULL);
    for (int i = 0; i < rounds; i++) {
        ta[i] = run_s(a, &peak_kb);
        tb[i] = run_s(b, NULL);
        ratio[i] = ta[i] / tb[i];
    }
    printf("%-44s %8.2f ms  beside %7.2f ms  ratio %6.2f\n", claim,
           median(ta, rounds) * 1e3, median(tb, rounds) * 1e3,
           median(ratio, rounds));
    return peak_kb;
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
    char *m512[] = {program, "plan", model,     "--pp", "4",
                    "--gbs", "512",  "--costs", costs,  "--standalone-mtp",
                    NULL};
    run_s(make, NULL);
    pair("plan 816 layouts, M 32, beside --version", m32, version, ROUNDS);
    pair("plan 816 layouts, M 512, beside M 32", m512, m32, ROUNDS);
    remove(costs);
    if (fd >= 0)
        fclose(fdopen(fd, "r"));
}

/* Times of 256 layouts for PP 16, two chunks a rank and 64 micro-batches, in
 * units that differ by up to a tenth; seconds for one of them. */
static double simulate_s(struct sim_engine *e, const struct schedule *s)
{
    enum { LAYOUTS = 256, STAGES = 32 };
    static double fwd[LAYOUTS][STAGES], bwd[LAYOUTS][STAGES];
    static struct sim_input ins[LAYOUTS];
    static double steps[LAYOUTS], x[STAGES];
    struct err_msg msg;
    unsigned seed = 1;
    for (int i = 0; i < LAYOUTS; i++) {
        for (int k = 0; k < STAGES; k++) {
            seed = seed * 1664525 + 1013904223;
            fwd[i][k] = 1000 + (seed >> 8) % 100;
            bwd[i][k] = 2 * fwd[i][k];
        }
        ins[i] = (struct sim_input){.schedule = s,
                                    .fwd_s = fwd[i],
                                    .bwd_s = bwd[i],
                                    .x_s = x,
                                    .mode = P2P_IDEAL};
    }
    double start = now_s();
    if (sim_engine_steps(e, ins, LAYOUTS, steps, &msg) != ERR_OK) {
        fprintf(stderr, "bench: %s\n", msg.text);
        exit(3);
    }
    return (now_s() - start) / LAYOUTS;
}

static void bench_simulator(void)
{
    const struct order order = {16, 2, 64, 16, false};
    const double plain_s = 63e-3; // Primus
    double t[ROUNDS];
    struct arena a;
    struct schedule s;
    struct err_msg msg;
    arena_init(&a);
    struct sim_engine *e =
        schedule_outline(&order, P2P_IDEAL, &s, &msg) == ERR_OK
            ? sim_engine_new(&a, &s)
            : NULL;
    if (!e)
        exit(3);
    simulate_s(e, &s); // compiles the graph
    for (int i = 0; i < ROUNDS; i++)
        t[i] = simulate_s(e, &s);
    double one = median(t, ROUNDS);
    printf("%-44s %8.2f us  beside %7.2f ms  ratio %6.0f\n",
           "simulate PP 16 V 2 M 64, one of 256 layouts", one * 1e6,
           plain_s * 1e3, plain_s / one);
    arena_clear(&a);
}

/* Memory of every case of Megatron's CI, where the corpus is there. */
static void bench_memory(const char *build)
{
    char program[512], corpus[] = "../shared/corpora/megatron-ci";
    snprintf(program, sizeof program, "%s/moe-layout", build);
    if (access(corpus, R_OK) != 0) {
        printf("memory of Megatron's CI cases: left out, no %s\n", corpus);
        return;
    }
    char *memory[] = {program, "memory", "--corpus", corpus, NULL};
    char *version[] = {program, "--version", NULL};
    pair("memory of all CI cases, beside --version", memory, version, ROUNDS);
}

/* What a user waits for: the advice on a log of two chunks a rank. */
static void bench_doctor(const char *build)
{
    char program[512];
    glob_t log;
    snprintf(program, sizeof program, "%s/moe-layout", build);
    if (glob("results/reference/local-vpp/runs/r01-default-*/log.txt.gz", 0,
             NULL, &log) != 0) {
        printf("doctor: left out, no results/reference/local-vpp\n");
        return;
    }
    char *doctor[] = {program, "doctor", log.gl_pathv[0], NULL};
    char *version[] = {program, "--version", NULL};
    pair("doctor of two chunks, beside --version", doctor, version, ROUNDS);
    globfree(&log);
}

/* One iteration of an all-ranks log: 256 ranks, eight timers. */
static void write_iteration(FILE *f, int iteration, unsigned *seed)
{
    static const char *const timers[] = {"forward-compute",  "backward-compute",
                                         "forward-recv",     "forward-send",
                                         "backward-recv",    "backward-send",
                                         "forward-backward", "optimizer"};
    fprintf(f,
            " [2026-01-02 03:04:05] iteration %8d/  100000 | consumed samples: "
            "%12d | elapsed time per iteration (ms): 123.4 | learning rate: "
            "1.000000E-04 | global batch size:    64 | lm loss: 1.234500E+00 | "
            "loss scale: 1.0 | grad norm: 1.000 | number of skipped "
            "iterations:   0 | number of nan iterations:   0 |\n",
            iteration, iteration * 64);
    fprintf(f, "times across ranks (ms):\n");
    for (size_t t = 0; t < sizeof timers / sizeof timers[0]; t++) {
        fprintf(f, "  %s:\n", timers[t]);
        for (int r = 0; r < 256; r++) {
            *seed = *seed * 1664525 + 1013904223;
            fprintf(f, "     rank %2d: %u.%02u\n", r, 1 + (*seed >> 8) % 1999,
                    *seed % 100);
        }
    }
}

static void bench_log(const char *build)
{
    enum { LOG_ROUNDS = 7 };
    char program[512], log[] = "/tmp/moe-bench-log-XXXXXX";
    snprintf(program, sizeof program, "%s/moe-bench", build);
    int fd = mkstemp(log);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        exit(3);
    unsigned seed = 1;
    for (int i = 1; ftell(f) < 1000000000L; i++)
        write_iteration(f, i, &seed);
    if (fclose(f) != 0) {
        fprintf(stderr, "bench: no room in /tmp for a log of 1 GB, left out\n");
        remove(log);
        return;
    }
    char *parse[] = {program, "parse", log, NULL};
    char *wc[] = {"wc", "-l", log, NULL};
    long kb = pair("parse a log of 1 GB, beside wc -l", parse, wc, LOG_ROUNDS);
    printf("%-44s %8.1f MB\n", "its largest resident set", (double)kb / 1e3);
    remove(log);
}

/* x (T,C) w (O,C)^T */
static const struct shape {
    const char *name;
    int t, c, o;
} shapes[] = {
    {"attention in", 192, 256, 512}, {"expert up", 48, 256, 256},
    {"expert down", 48, 128, 256},   {"output head", 192, 256, 3840},
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
    bench_simulator();
    bench_memory(argv[1]);
    bench_doctor(argv[1]);
    bench_log(argv[1]);
    printf("\nthe trainer's product beside OpenBLAS alone\n");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        bench_product(&shapes[i]);
    return 0;
}
