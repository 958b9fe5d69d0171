/* prove_instance: random problems for the tests of room prove, with a plain
 * simulator of their steps and the product's own to compare with. Times are
 * whole ns. Header of test data only. */
#ifndef PROVE_INSTANCE_H
#define PROVE_INSTANCE_H

#include "prove/prove.h"
#include "sim/overlap.h"
#include "sim/sim.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- a plain simulator, to compare with ---- */

enum { MAX_UNITS = 16, MAX_STAGES = 16, MAX_MB = 90 };

struct instance {
    struct prove_problem problem;
    int64_t fwd[MAX_UNITS], bwd[MAX_UNITS], bytes[MAX_UNITS];
    enum prove_kind kinds[MAX_UNITS];
    struct prove_saving saving;
    struct prove_memory memory;
    int64_t fixed_bytes; // what `fits` adds to a rank that holds two chunks
    uint64_t random;
};

static inline int64_t sum_of(const int64_t *of, int from, int to)
{
    int64_t sum = 0;
    for (int u = from; u < to; u++)
        sum += of[u];
    return sum;
}

/* What the pairs of layers save, from lists of the layers' kinds. */
static inline int64_t pair_saving(const struct instance *in, const int *cuts,
                                  int fwd, int bwd)
{
    enum prove_kind f[MAX_UNITS], b[MAX_UNITS];
    int n_f = 0, n_b = 0;
    for (int u = cuts[fwd]; u < cuts[fwd + 1]; u++)
        if (in->kinds[u] != PROVE_NO_LAYER)
            f[n_f++] = in->kinds[u];
    for (int u = cuts[bwd + 1] - 1; u >= cuts[bwd]; u--)
        if (in->kinds[u] != PROVE_NO_LAYER)
            b[n_b++] = in->kinds[u];
    int64_t saved = 0;
    for (int i = 0; i < n_f && i < n_b; i++) {
        bool fm = f[i] == PROVE_MOE, bm = b[i] == PROVE_MOE;
        saved += fm && bm ? in->saving.both_ns
                 : fm     ? in->saving.fwd_ns
                 : bm     ? in->saving.bwd_ns
                          : 0;
    }
    return saved;
}

struct simulation {
    int64_t fwd_end[MAX_STAGES][MAX_MB], bwd_end[MAX_STAGES][MAX_MB];
    int next[MAX_STAGES];
    int64_t free_at[MAX_STAGES];
};

/* End of what an operation waits for; -1 when that has not run. */
static inline int64_t input_end(const struct simulation *s, int n_stages,
                                int stage, int mb, bool backward)
{
    if (!backward)
        return stage == 0 ? 0 : s->fwd_end[stage - 1][mb];
    return stage == n_stages - 1 ? s->fwd_end[stage][mb]
                                 : s->bwd_end[stage + 1][mb];
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Forward of stage f with backward of stage b: embedding and loss head apart
 * from the layers, whose end is the returned time of both outputs. */
static inline int64_t run_combined(const struct instance *in, const int *cuts,
                                   struct simulation *s, int rank,
                                   const int stages[2], const int64_t inputs[2])
{
    int f = stages[0], b = stages[1], last = in->problem.n_units - 1;
    bool parts = !in->problem.whole_operations, first_f = parts && f == 0;
    bool first_b = parts && b == 0, last_f = parts && cuts[f + 1] > last;
    bool last_b = parts && cuts[b + 1] > last;
    int64_t layers = sum_of(in->fwd, cuts[f] + first_f, cuts[f + 1] - last_f) +
                     sum_of(in->bwd, cuts[b] + first_b, cuts[b + 1] - last_b) -
                     pair_saving(in, cuts, f, b);
    int64_t t = later(s->free_at[rank], inputs[0]);
    t += first_f ? in->fwd[0] : 0;
    t = later(t, inputs[1]);
    t += last_b ? in->bwd[last] : 0;
    t += later(layers, 0);
    s->free_at[rank] =
        t + (last_f ? in->fwd[last] : 0) + (first_b ? in->bwd[0] : 0);
    return t;
}

static inline bool run_next(const struct instance *in, const int *cuts,
                            struct simulation *s, int rank)
{
    const struct order *o = &in->problem.order;
    int n = o->pp * o->vpp;
    if (s->next[rank] >= order_size(o, rank))
        return false;
    struct order_op op = order_at(o, rank, s->next[rank]);
    int f = op.fwd_chunk * o->pp + rank, b = op.bwd_chunk * o->pp + rank;
    bool fwd = op.fwd_chunk >= 0, bwd = op.bwd_chunk >= 0;
    int64_t at_f = fwd ? input_end(s, n, f, op.fwd_mb, false) : 0;
    int64_t at_b = bwd ? input_end(s, n, b, op.bwd_mb, true) : 0, end;
    if (at_f < 0 || at_b < 0)
        return false;
    if (fwd && bwd)
        end = run_combined(in, cuts, s, rank, (int[]){f, b},
                           (int64_t[]){at_f, at_b});
    else
        end = s->free_at[rank] = later(s->free_at[rank], later(at_f, at_b)) +
                                 (fwd ? sum_of(in->fwd, cuts[f], cuts[f + 1])
                                      : sum_of(in->bwd, cuts[b], cuts[b + 1]));
    if (fwd)
        s->fwd_end[f][op.fwd_mb] = end;
    if (bwd)
        s->bwd_end[b][op.bwd_mb] = end;
    s->next[rank]++;
    return true;
}

static inline int64_t simulate(const struct instance *in, const int *cuts)
{
    struct simulation s;
    memset(&s, 0, sizeof s);
    memset(s.fwd_end, -1, sizeof s.fwd_end);
    memset(s.bwd_end, -1, sizeof s.bwd_end);
    bool any = true;
    while (any) {
        any = false;
        for (int r = 0; r < in->problem.order.pp; r++)
            while (run_next(in, cuts, &s, r))
                any = true;
    }
    int64_t end = 0;
    for (int r = 0; r < in->problem.order.pp; r++)
        end = s.free_at[r] > end ? s.free_at[r] : end;
    return end;
}

/* ---- the product's simulator, which plan predicts with ---- */

struct stage_times {
    double fwd[MAX_STAGES], bwd[MAX_STAGES], x[MAX_STAGES];
    double head_f[MAX_STAGES], tail_f[MAX_STAGES];
    double head_b[MAX_STAGES], tail_b[MAX_STAGES];
    double mid[MAX_STAGES * MAX_STAGES];
    char letters[MAX_STAGES][MAX_UNITS + 1];
    const char *layers[MAX_STAGES];
};

/* Of stages, with embedding and loss head as parts, in ns. */
static inline void fill_times(const struct instance *in, const int *cuts, int n,
                              struct stage_times *t)
{
    int last = in->problem.n_units - 1;
    memset(t, 0, sizeof *t);
    for (int s = 0; s < n; s++) {
        int k = 0;
        t->fwd[s] = (double)sum_of(in->fwd, cuts[s], cuts[s + 1]);
        t->bwd[s] = (double)sum_of(in->bwd, cuts[s], cuts[s + 1]);
        for (int u = cuts[s]; u < cuts[s + 1]; u++)
            if (in->kinds[u] != PROVE_NO_LAYER)
                t->letters[s][k++] = in->kinds[u] == PROVE_DENSE ? 'd' : 'e';
        t->layers[s] = t->letters[s];
    }
    t->head_f[0] = (double)in->fwd[0];
    t->tail_b[0] = (double)in->bwd[0];
    t->tail_f[n - 1] = (double)in->fwd[last];
    t->head_b[n - 1] = (double)in->bwd[last];
}

/* The step under ideal transfers, in ns. */
static inline int64_t sim_step(const struct instance *in, const int *cuts)
{
    const struct order *o = &in->problem.order;
    const struct prove_saving *save = &in->saving;
    struct arena a;
    struct schedule schedule;
    struct sim_result r;
    struct err_msg msg;
    struct stage_times t;
    fill_times(in, cuts, o->pp * o->vpp, &t);
    const struct sim_combined parts = {.mid_s = t.mid,
                                       .head_fwd_s = t.head_f,
                                       .tail_fwd_s = t.tail_f,
                                       .head_bwd_s = t.head_b,
                                       .tail_bwd_s = t.tail_b};
    const struct sim_combined whole = {.mid_s = t.mid};
    bool split = !in->problem.whole_operations;
    const struct overlap_stages stages = {
        t.fwd,
        t.bwd,
        split ? &parts : NULL,
        t.layers,
        {(double)save->both_ns, (double)save->fwd_ns, (double)save->bwd_ns}};
    arena_init(&a);
    cr_assert_eq(schedule_build(&a, o, P2P_IDEAL, &schedule, &msg), ERR_OK);
    if (o->ep_overlap)
        overlap_mid(&schedule, &stages, t.mid, NULL);
    const struct sim_input input = {.schedule = &schedule,
                                    .fwd_s = t.fwd,
                                    .bwd_s = t.bwd,
                                    .x_s = t.x,
                                    .combined = !o->ep_overlap ? NULL
                                                : split        ? &parts
                                                               : &whole,
                                    .mode = P2P_IDEAL};
    cr_assert_eq(sim_run(&a, &input, &r, &msg), ERR_OK, "%s", msg.text);
    arena_clear(&a);
    return (int64_t)r.step_s;
}

static inline int64_t chunk_bytes(void *data, int stage, int from, int to)
{
    const struct instance *in = data;
    return sum_of(in->bytes, from, to) * (1 + stage % 3);
}

static inline bool rank_fits(void *data, const int *cuts)
{
    const struct instance *in = data;
    const struct order *o = &in->problem.order;
    for (int r = 0; r < o->pp; r++) {
        int64_t used = 0;
        int held = 0;
        for (int s = r; s < o->pp * o->vpp; s += o->pp) {
            used += chunk_bytes(data, s, cuts[s], cuts[s + 1]);
            held += cuts[s + 1] > cuts[s];
        }
        if (used + (held >= 2 ? in->fixed_bytes : 0) > in->memory.limit_bytes)
            return false;
    }
    return true;
}

/* ---- random instances ---- */

static inline int draw(struct instance *in, int from, int to)
{
    in->random ^= in->random << 13;
    in->random ^= in->random >> 7;
    in->random ^= in->random << 17;
    return from + (int)((in->random >> 20) % (uint64_t)(to - from + 1));
}

static inline void draw_order(struct instance *in)
{
    struct order *o = &in->problem.order;
    o->pp = draw(in, 1, 4);
    o->vpp = o->pp == 1 ? 1 : draw(in, 1, o->pp == 4 ? 2 : o->pp == 3 ? 3 : 4);
    o->ep_overlap = (o->vpp > 1 || o->pp == 1) && draw(in, 0, 2) == 0;
    do {
        o->n_mb = draw(in, o->vpp > 1 ? o->pp : 1, 12);
        o->group = draw(in, o->pp, o->n_mb > o->pp ? o->n_mb : o->pp);
    } while (order_check(o, NULL) != ERR_OK);
}

static inline void draw_units(struct instance *in)
{
    struct prove_problem *p = &in->problem;
    int stages = p->order.pp * p->order.vpp;
    p->n_mtp = draw(in, 0, 2);
    int most = stages <= 4 ? 14 : stages <= 6 ? 11 : 10;
    int least = 2 + p->n_mtp + 1;
    p->n_units =
        draw(in, least > stages ? least : stages, least > most ? least : most);
    bool alike = draw(in, 0, 1), dense = draw(in, 0, 1);
    for (int u = 0; u < p->n_units; u++) {
        in->fwd[u] = alike ? 20 : draw(in, 0, 40);
        in->bwd[u] = alike ? 40 : draw(in, 0, 80);
        in->bytes[u] = draw(in, 1, 9);
        in->kinds[u] = dense && u < 3 ? PROVE_DENSE : PROVE_MOE;
    }
    in->fwd[0] = draw(in, 0, 30);
    in->fwd[p->n_units - 1] = draw(in, 5, 60);
    in->kinds[0] = in->kinds[p->n_units - 1] = PROVE_NO_LAYER;
    p->empty_stages = draw(in, 0, 1);
    p->standalone_mtp = draw(in, 0, 1);
}

static inline void draw_rest(struct instance *in)
{
    struct prove_problem *p = &in->problem;
    /* now and then more than there is to save */
    int most = draw(in, 0, 3) ? 8 : 100;
    in->saving =
        (struct prove_saving){in->kinds, draw(in, 0, most),
                              draw(in, 0, most / 2), draw(in, 0, most / 2)};
    p->saving = p->order.ep_overlap ? &in->saving : NULL;
    int64_t all = sum_of(in->bytes, 0, p->n_units);
    in->memory = (struct prove_memory){
        .limit_bytes = all * draw(in, 4, 16) / (2 * p->order.pp),
        .chunk_bytes = draw(in, 0, 3) ? chunk_bytes : NULL,
        .fits = rank_fits,
        .data = in};
    in->fixed_bytes = draw(in, 0, 5);
    p->memory = draw(in, 0, 1) ? &in->memory : NULL;
    p->top = draw(in, 0, 1) ? 1 : draw(in, 2, 12);
    p->enumerate_up_to = draw(in, 0, 4) ? -1 : 0;
}

static inline void draw_instance(struct instance *in, int number)
{
    memset(in, 0, sizeof *in);
    in->random = 0x2545f4914f6cdd1du * (uint64_t)(2 * number + 1);
    for (int i = 0; i < 10; i++)
        draw(in, 0, 1);
    draw_order(in);
    draw_units(in);
    in->problem.fwd_ns = in->fwd;
    in->problem.bwd_ns = in->bwd;
    in->problem.whole_operations = number % 4 == 3;
    draw_rest(in);
}

#endif
