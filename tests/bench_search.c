/*
 * Times of the layout search, a line a case: known optima, more chunks a rank,
 * disturbed costs, a memory limit, 94 layers, EP overlap.
 *
 * Usage: bench_search [PATTERN [TIME_LIMIT_S [GAP [FILE]]]]
 * runs the cases whose name holds PATTERN; FILE gets them as CSV, for the
 * report. Exit status 1 when a known optimum is not found.
 */
#include "base/csv.h"
#include "prove/prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_UNITS = 192 };

struct bench_case {
    const char *name;
    int pp, vpp, n_mb, n_layers;
    int64_t known_ns; // 0: not known
    unsigned disturb; // 0: none, else which of the disturbed cost sets
    int most_layers;  // on a rank, as a memory limit; 0: none
    bool ep_overlap;
    bool hybrid; // layers are two units: a stage may end between them
};

static const struct bench_case CASES[] = {
    {"pp16v1m64", 16, 1, 64, 61, 18702, 0, 0, false, false},
    {"pp16v1m128", 16, 1, 128, 61, 34062, 0, 0, false, false},
    {"pp8v2m64", 8, 2, 64, 61, 31962, 0, 0, false, false},
    {"pp8v2m128", 8, 2, 128, 61, 62682, 0, 0, false, false},
    {"pp16v2m64", 16, 2, 64, 61, 16906, 0, 0, false, false},
    {"pp16v2m128", 16, 2, 128, 61, 32266, 0, 0, false, false},
    {"pp4v3m64", 4, 3, 64, 61, 0, 0, 0, false, false},
    {"pp8v3m64", 8, 3, 64, 61, 0, 0, 0, false, false},
    {"pp4v4m64", 4, 4, 64, 61, 0, 0, 0, false, false},
    {"pp2v8m64", 2, 8, 64, 61, 0, 0, 0, false, false},
    {"pp16v3m64", 16, 3, 64, 61, 0, 0, 0, false, false},
    {"pp8v4m64", 8, 4, 64, 61, 0, 0, 0, false, false},
    {"pp8v1l94", 8, 1, 64, 94, 0, 0, 0, false, false},
    {"pp16v1mem", 16, 1, 64, 61, 0, 0, 5, false, false},
    {"pp8v2mem", 8, 2, 64, 61, 0, 0, 8, false, false},
    {"pp8v2none", 8, 2, 64, 61, 0, 0, 7, false, false},
    {"pp16v2mem", 16, 2, 64, 61, 0, 0, 5, false, false},
    {"pp4v4ep", 4, 4, 64, 61, 0, 0, 0, true, false},
    {"pp8v2ep", 8, 2, 64, 61, 0, 0, 0, true, false},
    {"pp8v2set1", 8, 2, 64, 61, 0, 1, 0, false, false},
    {"pp8v2set2", 8, 2, 64, 61, 0, 2, 0, false, false},
    {"pp8v2set3", 8, 2, 64, 61, 0, 3, 0, false, false},
    {"pp8v2set4", 8, 2, 64, 61, 0, 4, 0, false, false},
    {"pp8v2set5", 8, 2, 64, 61, 0, 5, 0, false, false},
    {"pp16v2set6", 16, 2, 64, 61, 0, 6, 0, false, false},
    {"pp16v2set7", 16, 2, 64, 61, 0, 7, 0, false, false},
    {"pp16v2set8", 16, 2, 64, 61, 0, 8, 0, false, false},
    {"pp16v2set9", 16, 2, 64, 61, 0, 9, 0, false, false},
    {"pp16v2set10", 16, 2, 64, 61, 0, 10, 0, false, false},
    {.name = "pp4v1hybrid", 4, 1, 64, 61, .hybrid = true},
    {.name = "pp8v1hybrid", 8, 1, 64, 61, .hybrid = true},
    {.name = "pp16v1hybrid", 16, 1, 64, 61, .hybrid = true},
    {.name = "pp16v1m128hybrid", 16, 1, 128, 61, .hybrid = true},
    {.name = "pp8v1l94hybrid", 8, 1, 64, 94, .hybrid = true},
    {.name = "pp4v2hybrid", 4, 2, 64, 61, .hybrid = true},
    {.name = "pp8v2hybrid", 8, 2, 64, 61, .hybrid = true},
    {.name = "pp16v2hybrid", 16, 2, 64, 61, .hybrid = true},
};

struct bench_units {
    int64_t fwd[MAX_UNITS], bwd[MAX_UNITS];
    enum prove_kind kinds[MAX_UNITS];
    int n;
};

/* Within a tenth of one. */
static double bench_factor(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return 0.9 + 0.2 * (double)(*random >> 40) / (double)(1 << 24);
}

/* Kinds of units, their times and what they are to EP overlap. */
enum bench_kind { EMBEDDING, DENSE, MOE, MTP, LOSS, ATTENTION, MLP, EXPERTS };
enum { N_BENCH_KINDS = EXPERTS + 1 };

/* The i-th unit: three dense layers, others with experts; halves in turn. */
static enum bench_kind bench_unit(const struct bench_case *c, int i, int n)
{
    const int layer = c->hybrid ? (i - 1) / 2 : i - 1;
    if (i == 0)
        return EMBEDDING;
    if (i == n - 1)
        return LOSS;
    if (layer >= c->n_layers)
        return MTP;
    if (c->hybrid && i % 2 == 1)
        return ATTENTION;
    if (c->hybrid)
        return layer < 3 ? MLP : EXPERTS;
    return layer < 3 ? DENSE : MOE;
}

/* E 1, dense layers 11, others 20, MTP 28, loss 12; halves 7, 4 and 13;
 * disturbed in thousandths, forward and backward apart, the same for all of a
 * kind. */
static void bench_times(const struct bench_case *c, struct bench_units *u)
{
    static const int64_t TIME[] = {1, 11, 20, 28, 12, 7, 4, 13};
    double fwd[N_BENCH_KINDS], bwd[N_BENCH_KINDS];
    uint64_t random = c->disturb;
    int64_t scale = c->disturb ? 1000 : 1;
    for (int i = 0; i < N_BENCH_KINDS; i++) {
        fwd[i] = c->disturb ? bench_factor(&random) : 1;
        bwd[i] = c->disturb ? bench_factor(&random) : 1;
    }
    u->n = c->n_layers * (c->hybrid ? 2 : 1) + 3;
    for (int i = 0; i < u->n; i++) {
        const enum bench_kind kind = bench_unit(c, i, u->n);
        u->fwd[i] = (int64_t)(fwd[kind] * (double)(TIME[kind] * scale));
        u->bwd[i] = (int64_t)(bwd[kind] * (double)(2 * TIME[kind] * scale));
        u->kinds[i] = kind == EMBEDDING || kind == LOSS ? PROVE_NO_LAYER
                      : kind == DENSE                   ? PROVE_DENSE
                                                        : PROVE_MOE;
    }
}

static int64_t bench_bytes(void *data, int stage, int from, int to)
{
    (void)data, (void)stage;
    return to - from;
}

static void bench_print(const struct bench_case *c,
                        const struct prove_result *r, double cpu_s)
{
    static const char *STATE[] = {"enumerated", "optimal", "gap"};
    long long best = r->n_layouts ? (long long)r->layouts[0].step_ns : -1;
    printf("%-12s %7.3f s (cpu %7.3f) %-10s best %lld bound %lld gap %.3f%% of "
           "%s%s\n ",
           c->name, r->seconds, cpu_s, STATE[r->state], best,
           (long long)r->bound_ns, 100 * r->gap, r->space,
           c->known_ns && best != c->known_ns ? " WRONG" : "");
    for (int s = 0; r->n_layouts && s < c->pp * c->vpp; s++)
        printf(" %d", r->layouts[0].cuts[s + 1] - r->layouts[0].cuts[s]);
    printf("\n");
    fflush(stdout);
}

/* What a case has beside its size. */
static const char *bench_kind(const struct bench_case *c)
{
    if (c->disturb)
        return "disturbed costs";
    if (c->most_layers)
        return "memory limit";
    if (c->hybrid)
        return "cuts inside layers";
    return c->ep_overlap ? "EP overlap" : "";
}

static FILE *bench_csv; // NULL: none is written

static void bench_write(const struct bench_case *c,
                        const struct prove_result *r, double cpu_s)
{
    static const char *STATE[] = {"enumerated", "optimal", "gap"};
    enum { N = 8 };
    const double numbers[N] = {c->pp,
                               c->vpp,
                               c->n_mb,
                               c->n_layers,
                               r->n_layouts ? (double)r->layouts[0].step_ns
                                            : -1.0,
                               (double)r->bound_ns,
                               r->seconds,
                               cpu_s};
    char text[N][CSV_NUMBER_BYTES];
    const char *f[N];
    for (int i = 0; i < N; i++)
        f[i] = csv_number(numbers[i], text[i]);
    const char *row[] = {"moe-bench/search/1",
                         c->name,
                         bench_kind(c),
                         f[0],
                         f[1],
                         f[2],
                         f[3],
                         r->space,
                         STATE[r->state],
                         r->n_layouts ? f[4] : "",
                         f[5],
                         f[6],
                         f[7]};
    csv_write_row(bench_csv, row, sizeof row / sizeof *row);
}

static int bench_run(const struct bench_case *c, double limit_s, double gap)
{
    struct bench_units u;
    bench_times(c, &u);
    struct prove_memory memory = {.limit_bytes = c->most_layers,
                                  .chunk_bytes = bench_bytes};
    struct prove_saving saving = {u.kinds, 12, 6, 6};
    struct prove_problem problem = {
        .order = {c->pp, c->vpp, c->n_mb, c->pp, c->ep_overlap},
        .n_units = u.n,
        .fwd_ns = u.fwd,
        .bwd_ns = u.bwd,
        .n_mtp = 1,
        .empty_stages = true,
        .standalone_mtp = true,
        .saving = c->ep_overlap ? &saving : NULL,
        .memory = c->most_layers ? &memory : NULL,
        .top = 1,
        .gap = gap,
        .time_limit_s = limit_s};
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    clock_t began = clock();
    enum err e = prove_layouts(&a, &problem, &r, &msg);
    double cpu_s = (double)(clock() - began) / CLOCKS_PER_SEC;
    bool wrong =
        e != ERR_OK ||
        (c->known_ns && (!r.n_layouts || r.layouts[0].step_ns != c->known_ns));
    if (e == ERR_OK)
        bench_print(c, &r, cpu_s);
    if (e == ERR_OK && bench_csv)
        bench_write(c, &r, cpu_s);
    if (e != ERR_OK)
        fprintf(stderr, "%s: %s\n", c->name, msg.text);
    arena_clear(&a);
    return wrong;
}

int main(int argc, char **argv)
{
    double limit_s = argc > 2 ? strtod(argv[2], NULL) : 60;
    double gap = argc > 3 ? strtod(argv[3], NULL) : 0;
    int failed = 0;
    bench_csv = argc > 4 ? fopen(argv[4], "w") : NULL;
    if (argc > 4 && !bench_csv) {
        fprintf(stderr, "bench_search: %s: cannot be written\n", argv[4]);
        return 3;
    }
    if (bench_csv)
        fputs("format,case,kind,pp,vpp,n_mb,n_layers,space,proof,best,bound,"
              "wall_s,cpu_s\n",
              bench_csv);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (argc < 2 || strstr(CASES[i].name, argv[1]))
            failed |= bench_run(&CASES[i], limit_s, gap);
    if (bench_csv && fclose(bench_csv) != 0)
        return 3;
    return failed;
}
