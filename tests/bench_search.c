/*
 * Times of the layout search on the cases whose optima are known: a line a
 * case. Usage: bench_search [PATTERN [TIME_LIMIT_S [GAP]]]; only cases whose
 * name holds PATTERN.
 */
#include "plan/prove.h"

#include <stdio.h>
#include <time.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAYERS = 61, N_UNITS = N_LAYERS + 3 };

struct bench_case {
    const char *name;
    int pp, vpp, n_mb;
    int64_t known_ns; // 0: not known
};

static const struct bench_case CASES[] = {
    {"pp16v1m64", 16, 1, 64, 18702}, {"pp16v1m128", 16, 1, 128, 34062},
    {"pp8v2m64", 8, 2, 64, 31962},   {"pp8v2m128", 8, 2, 128, 62682},
    {"pp16v2m64", 16, 2, 64, 16906}, {"pp16v2m128", 16, 2, 128, 32266},
    {"pp4v3m64", 4, 3, 64, 0},       {"pp8v3m64", 8, 3, 64, 0},
    {"pp16v3m64", 16, 3, 64, 0},     {"pp4v4m64", 4, 4, 64, 0},
    {"pp2v8m64", 2, 8, 64, 0},       {"pp8v4m64", 8, 4, 64, 0},
};

/* E 1, three dense layers 11, others 20, MTP 28, loss 12. */
static void bench_times(int64_t *fwd, int64_t *bwd)
{
    for (int u = 0; u < N_UNITS; u++) {
        fwd[u] = u == 0 ? 1 : u <= 3 ? 11 : u <= N_LAYERS ? 20 : 12;
        if (u == N_LAYERS + 1)
            fwd[u] = 28;
        bwd[u] = 2 * fwd[u];
    }
}

static void bench_print(const struct bench_case *c,
                        const struct prove_result *r)
{
    static const char *STATE[] = {"enumerated", "optimal", "gap"};
    printf("%-12s cpu %.3f wall %8.3f s %-10s best %lld bound %lld gap %.3f%% seen %lld",
           c->name, (double)clock() / CLOCKS_PER_SEC, r->seconds, STATE[r->state],
           r->n_layouts ? (long long)r->layouts[0].step_ns : -1,
           (long long)r->bound_ns, 100 * r->gap, (long long)r->n_evaluated);
    printf("%s\n",
           c->known_ns && r->n_layouts && r->layouts[0].step_ns != c->known_ns
               ? " WRONG"
               : "");
    for (int s = 0; r->n_layouts && s < c->pp * c->vpp; s++)
        printf(" %d", r->layouts[0].cuts[s + 1] - r->layouts[0].cuts[s]);
    printf("\n");
    fflush(stdout);
}

static int bench_run(const struct bench_case *c, double limit_s, double gap)
{
    int64_t fwd[N_UNITS], bwd[N_UNITS];
    bench_times(fwd, bwd);
    struct prove_problem problem = {
        .order = {c->pp, c->vpp, c->n_mb, c->pp, false},
        .n_units = N_UNITS,
        .fwd_ns = fwd,
        .bwd_ns = bwd,
        .n_mtp = 1,
        .empty_stages = true,
        .standalone_mtp = true,
        .top = 1,
        .gap = gap,
        .time_limit_s = limit_s};
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    enum err e = prove_layouts(&a, &problem, &r, &msg);
    if (e == ERR_OK)
        bench_print(c, &r);
    else
        fprintf(stderr, "%s: %s\n", c->name, msg.text);
    arena_clear(&a);
    return e != ERR_OK;
}

int main(int argc, char **argv)
{
    double limit_s = argc > 2 ? strtod(argv[2], NULL) : 60;
    double gap = argc > 3 ? strtod(argv[3], NULL) : 0;
    int failed = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (argc < 2 || strstr(CASES[i].name, argv[1]))
            failed |= bench_run(&CASES[i], limit_s, gap);
    return failed;
}
