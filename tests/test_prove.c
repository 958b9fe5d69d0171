#include "prove/proof.h"
#include "prove/prove.h"
#include "sim/overlap.h"
#include "sim/sim.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a plain simulator and a plain enumeration, to compare with ---- */

enum { MAX_UNITS = 16, MAX_STAGES = 16, MAX_MB = 90, MAX_FOUND = 20000 };

struct instance {
    struct prove_problem problem;
    int64_t fwd[MAX_UNITS], bwd[MAX_UNITS], bytes[MAX_UNITS];
    enum prove_kind kinds[MAX_UNITS];
    struct prove_saving saving;
    struct prove_memory memory;
    int64_t fixed_bytes; // what `fits` adds to a rank that holds two chunks
    uint64_t random;
};

static int64_t sum_of(const int64_t *of, int from, int to)
{
    int64_t sum = 0;
    for (int u = from; u < to; u++)
        sum += of[u];
    return sum;
}

/* What the pairs of layers save, from lists of the layers' kinds. */
static int64_t pair_saving(const struct instance *in, const int *cuts, int fwd,
                           int bwd)
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
static int64_t input_end(const struct simulation *s, int n_stages, int stage,
                         int mb, bool backward)
{
    if (!backward)
        return stage == 0 ? 0 : s->fwd_end[stage - 1][mb];
    return stage == n_stages - 1 ? s->fwd_end[stage][mb]
                                 : s->bwd_end[stage + 1][mb];
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Forward of stage f with backward of stage b: embedding and loss head apart
 * from the layers, whose end is the returned time of both outputs. */
static int64_t run_combined(const struct instance *in, const int *cuts,
                            struct simulation *s, int rank, const int stages[2],
                            const int64_t inputs[2])
{
    int f = stages[0], b = stages[1], last = in->problem.n_units - 1;
    bool last_f = cuts[f + 1] > last, last_b = cuts[b + 1] > last;
    int64_t layers = sum_of(in->fwd, cuts[f] + (f == 0), cuts[f + 1] - last_f) +
                     sum_of(in->bwd, cuts[b] + (b == 0), cuts[b + 1] - last_b) -
                     pair_saving(in, cuts, f, b);
    int64_t t = later(s->free_at[rank], inputs[0]);
    t += f == 0 ? in->fwd[0] : 0;
    t = later(t, inputs[1]);
    t += last_b ? in->bwd[last] : 0;
    t += later(layers, 0);
    s->free_at[rank] =
        t + (last_f ? in->fwd[last] : 0) + (b == 0 ? in->bwd[0] : 0);
    return t;
}

static bool run_next(const struct instance *in, const int *cuts,
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

static int64_t simulate(const struct instance *in, const int *cuts)
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
static void fill_times(const struct instance *in, const int *cuts, int n,
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
static int64_t sim_step(const struct instance *in, const int *cuts)
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
    const struct overlap_stages stages = {
        t.fwd,
        t.bwd,
        &parts,
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
                                    .combined = o->ep_overlap ? &parts : NULL,
                                    .mode = P2P_IDEAL};
    cr_assert_eq(sim_run(&a, &input, &r, &msg), ERR_OK, "%s", msg.text);
    arena_clear(&a);
    return (int64_t)r.step_s;
}

static bool obeys_rules(const struct instance *in, const int *cuts)
{
    const struct prove_problem *p = &in->problem;
    int n = p->order.pp * p->order.vpp, first = p->n_units - 1 - p->n_mtp;
    if (cuts[1] < 1 || cuts[n - 1] > p->n_units - 1)
        return false;
    for (int s = 0; s < n; s++) {
        int here = 0;
        for (int u = cuts[s]; u < cuts[s + 1]; u++)
            here += u >= first && u < first + p->n_mtp;
        if (!p->empty_stages && cuts[s] == cuts[s + 1])
            return false;
        if (here && (here < p->n_mtp || s < n - p->order.pp ||
                     (!p->standalone_mtp && s < n - 1)))
            return false;
    }
    return true;
}

static int64_t chunk_bytes(void *data, int stage, int from, int to)
{
    const struct instance *in = data;
    return sum_of(in->bytes, from, to) * (1 + stage % 3);
}

static bool rank_fits(void *data, const int *cuts)
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

struct found {
    int64_t step[MAX_FOUND];
    int n, in_space;
};

static void enumerate(struct instance *in, int *cuts, int s, struct found *out)
{
    int n = in->problem.order.pp * in->problem.order.vpp;
    if (s == n) {
        if (cuts[n - 1] > in->problem.n_units || !obeys_rules(in, cuts))
            return;
        out->in_space++;
        if (in->problem.memory && !rank_fits(in, cuts))
            return;
        cr_assert_lt(out->n, MAX_FOUND);
        out->step[out->n++] = simulate(in, cuts);
        return;
    }
    int last = s == n - 1;
    int from = last ? in->problem.n_units : cuts[s];
    for (int to = from; to <= in->problem.n_units; to++) {
        cuts[s + 1] = to;
        enumerate(in, cuts, s + 1, out);
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- random instances ---- */

static int draw(struct instance *in, int from, int to)
{
    in->random ^= in->random << 13;
    in->random ^= in->random >> 7;
    in->random ^= in->random << 17;
    return from + (int)((in->random >> 20) % (uint64_t)(to - from + 1));
}

static void draw_order(struct instance *in)
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

static void draw_units(struct instance *in)
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

static void draw_rest(struct instance *in)
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

static void draw_instance(struct instance *in, int number)
{
    memset(in, 0, sizeof *in);
    in->random = 0x2545f4914f6cdd1du * (uint64_t)(2 * number + 1);
    for (int i = 0; i < 10; i++)
        draw(in, 0, 1);
    draw_order(in);
    draw_units(in);
    in->problem.fwd_ns = in->fwd;
    in->problem.bwd_ns = in->bwd;
    draw_rest(in);
}

static void check_layouts(struct instance *in, int number,
                          const struct prove_result *r, const struct found *all)
{
    int want = all->n < in->problem.top ? all->n : in->problem.top;
    char space[PROVE_DIGITS];
    snprintf(space, sizeof space, "%d", all->in_space);
    cr_assert_str_eq(r->space, space, "instance %d: %s layouts, want %s",
                     number, r->space, space);
    cr_assert_eq(r->n_layouts, want, "instance %d: %d layouts listed, want %d",
                 number, r->n_layouts, want);
    cr_assert_neq(r->state, PROVE_GAP, "instance %d: not settled", number);
    for (int i = 0; i < want; i++) {
        const struct prove_layout *l = &r->layouts[i];
        cr_assert_eq(l->step_ns, all->step[i],
                     "instance %d, place %d: %lld ns, want %lld", number, i,
                     (long long)l->step_ns, (long long)all->step[i]);
        cr_assert(obeys_rules(in, l->cuts));
        cr_assert_eq(simulate(in, l->cuts), l->step_ns);
        cr_assert_eq(sim_step(in, l->cuts), l->step_ns,
                     "instance %d: as plan predicts it", number);
        cr_assert(!in->problem.memory || rank_fits(in, l->cuts));
        for (int j = 0; j < i; j++)
            cr_assert(memcmp(l->cuts, r->layouts[j].cuts,
                             sizeof(int) * (size_t)(in->problem.order.pp *
                                                    in->problem.order.vpp)),
                      "instance %d: a layout twice", number);
    }
}

/* The proof alone, without layouts from local search to start from: it has to
 * come across the best ones itself. */
static void check_unaided(struct instance *in, int number,
                          const struct found *all)
{
    struct arena a;
    struct err_msg msg;
    struct space sp;
    struct lanes *lanes;
    struct proof p;
    struct live l;
    int stages = in->problem.order.pp * in->problem.order.vpp;
    arena_init(&a);
    cr_assert_eq(space_init(&a, &in->problem, &sp, &msg), ERR_OK);
    cr_assert_eq(lanes_new(&a, &sp, &lanes, &msg), ERR_OK);
    cr_assert_eq(proof_init(&a, &sp, lanes, &p, &msg), ERR_OK);
    cr_assert(live_new(&a, &sp, &l));
    if (stages > 1 && live_fill(&l, &sp) && proof_prune_memory(&p, &l)) {
        int want = all->n < in->problem.top ? all->n : in->problem.top;
        cr_assert(proof_settle(&p, &l));
        cr_assert_eq(p.best.n, want, "instance %d, unaided: %d listed, want %d",
                     number, p.best.n, want);
        for (int i = 0; i < want; i++)
            cr_assert_eq(p.best.step_ns[i], all->step[i],
                         "instance %d, unaided, place %d: %lld ns, want %lld",
                         number, i, (long long)p.best.step_ns[i],
                         (long long)all->step[i]);
    }
    arena_clear(&a);
}

Test(prove, equals_brute_force_on_random_instances)
{
    enum { N_INSTANCES = 300 };
    static struct found all;
    int infeasible = 0, searched = 0, overlapped = 0;
    for (int number = 0; number < N_INSTANCES; number++) {
        struct instance in;
        struct prove_result r;
        struct err_msg msg;
        struct arena a;
        int cuts[MAX_STAGES + 1] = {0};
        draw_instance(&in, number);
        all.n = all.in_space = 0;
        enumerate(&in, cuts, 0, &all);
        qsort(all.step, (size_t)all.n, sizeof *all.step, by_size);
        arena_init(&a);
        enum err e = prove_layouts(&a, &in.problem, &r, &msg);
        if (all.in_space == 0) {
            cr_assert_eq(e, ERR_RANGE);
        } else {
            cr_assert_eq(e, ERR_OK, "instance %d: %s", number, msg.text);
            check_layouts(&in, number, &r, &all);
            check_unaided(&in, number, &all);
            searched += r.state == PROVE_OPTIMAL;
        }
        infeasible += all.in_space > 0 && all.n == 0;
        overlapped += in.problem.saving != NULL;
        arena_clear(&a);
    }
    cr_assert_gt(searched, 150);
    cr_assert_gt(infeasible, 3);
    cr_assert_gt(overlapped, 40);
}

/* A layout of one chunk a rank, each cut anywhere after the one before. */
static void draw_cuts(struct instance *in, const struct space *sp, int *pos)
{
    int n = sp->n_stages, last = sp->n_pos - 1;
    pos[0] = 0;
    for (int s = 1; s <= n; s++)
        pos[s] = s == n ? last : draw(in, pos[s - 1], last);
}

/* Many micro-batches of 1F1B are not simulated but extended from a steady
 * round: nearly equal ranks take longest to settle. */
Test(prove, steady_rounds_of_1f1b_equal_the_simulation)
{
    static struct instance in;
    for (int number = 0; number < 60; number++) {
        struct arena a;
        struct err_msg msg;
        struct space sp;
        struct lanes *lanes;
        int pos[LANES_WIDE][MAX_STAGES + 1], cuts[MAX_STAGES + 1];
        int flat[LANES_WIDE * (MAX_STAGES + 1)];
        int64_t step[LANES_WIDE];
        draw_instance(&in, number);
        in.problem.order = (struct order){draw(&in, 1, 6), 1, 0, 1, false};
        in.problem.order.n_mb = in.problem.order.pp + draw(&in, 38, 80);
        in.problem.n_units = MAX_UNITS;
        in.problem.n_mtp = 0;
        in.problem.saving = NULL;
        for (int u = 0; u < MAX_UNITS; u++) {
            in.fwd[u] = 1000 + draw(&in, 0, number % 3 ? 400 : 3);
            in.bwd[u] = 2000 + draw(&in, 0, number % 3 ? 400 : 3);
        }
        int n = in.problem.order.pp;
        arena_init(&a);
        cr_assert_eq(space_init(&a, &in.problem, &sp, &msg), ERR_OK);
        cr_assert_eq(lanes_new(&a, &sp, &lanes, &msg), ERR_OK);
        for (int i = 0; i < LANES_WIDE; i++) {
            draw_cuts(&in, &sp, pos[i]);
            memcpy(flat + i * (n + 1), pos[i], sizeof(int) * (size_t)(n + 1));
        }
        lanes_eval(lanes, &sp, flat, LANES_WIDE, step);
        for (int i = 0; i < LANES_WIDE; i++) {
            space_units(&sp, pos[i], cuts);
            cr_assert_eq(step[i], simulate(&in, cuts), "instance %d, layout %d",
                         number, i);
        }
        arena_clear(&a);
    }
}

/* ---- EP overlap on more ranks and chunks than brute force manages ---- */

static void draw_overlapped(struct instance *in, int number)
{
    draw_instance(in, number);
    struct order *o = &in->problem.order;
    o->pp = draw(in, 2, 4);
    o->vpp = draw(in, 2, 4);
    o->ep_overlap = true;
    do {
        o->n_mb = draw(in, o->pp, 24);
        o->group = draw(in, o->pp, o->n_mb);
    } while (order_check(o, NULL) != ERR_OK);
    in->problem.n_units = MAX_UNITS;
    in->problem.n_mtp = 0;
    in->problem.saving = &in->saving;
    for (int u = 0; u < MAX_UNITS; u++) {
        bool layer = u > 0 && u < MAX_UNITS - 1, dense = number % 2 && u < 4;
        in->fwd[u] = draw(in, 0, layer ? 40 : 120);
        in->bwd[u] = draw(in, 0, layer ? 80 : 240);
        in->kinds[u] = !layer  ? PROVE_NO_LAYER
                       : dense ? PROVE_DENSE
                               : PROVE_MOE;
    }
}

/* The critical path is as long as its counts say, for these chunks and by sums
 * of the space, and no longer than the step. */
static void check_path(struct lanes *lanes, const struct space *sp,
                       const int *pos, int64_t step_ns)
{
    int64_t value[SPACE_N_SUMS][MAX_STAGES], sum = 0;
    int32_t count[SPACE_N_SUMS * MAX_STAGES];
    struct lanes_times t;
    for (int j = 0; j < SPACE_N_SUMS; j++) {
        t.value[j] = value[j];
        for (int s = 0; s < sp->n_stages; s++)
            value[j][s] = sp->sum[j][pos[s + 1]] - sp->sum[j][pos[s]];
    }
    int64_t length = lanes_path(lanes, &t, false, count);
    for (int j = 0; j < SPACE_N_SUMS; j++)
        for (int s = 0; s < sp->n_stages; s++)
            sum += count[j * sp->n_stages + s] * value[j][s];
    cr_assert_eq(length, sum);
    cr_assert_leq(length, step_ns);
}

/* E in the first stage and L in the last, the other cuts anywhere. */
static void draw_ends(struct instance *in, const struct space *sp, int *pos)
{
    int n = sp->n_stages, last = sp->n_pos - 1;
    pos[0] = 0;
    for (int s = 1; s < n; s++)
        pos[s] = draw(in, s == 1 ? 1 : pos[s - 1], last - 1);
    pos[n] = last;
}

Test(prove, combined_operations_take_what_the_simulator_says)
{
    static struct instance in;
    for (int number = 0; number < 60; number++) {
        struct arena a;
        struct err_msg msg;
        struct space sp;
        struct lanes *lanes;
        int pos[LANES_WIDE * (MAX_STAGES + 1)], cuts[MAX_STAGES + 1];
        int64_t step[LANES_WIDE];
        draw_overlapped(&in, number);
        int size = in.problem.order.pp * in.problem.order.vpp + 1;
        arena_init(&a);
        cr_assert_eq(space_init(&a, &in.problem, &sp, &msg), ERR_OK);
        cr_assert_eq(lanes_new(&a, &sp, &lanes, &msg), ERR_OK);
        for (int i = 0; i < LANES_WIDE; i++)
            draw_ends(&in, &sp, pos + i * size);
        lanes_eval(lanes, &sp, pos, LANES_WIDE, step);
        for (int i = 0; i < LANES_WIDE; i++) {
            space_units(&sp, pos + i * size, cuts);
            cr_assert_eq(step[i], sim_step(&in, cuts), "instance %d, layout %d",
                         number, i);
            check_path(lanes, &sp, pos + i * size, step[i]);
        }
        arena_clear(&a);
    }
}
