#include "prove/proof.h"
#include "prove/prove.h"

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

static bool run_next(const struct instance *in, const int *cuts,
                     struct simulation *s, int rank)
{
    const struct order *o = &in->problem.order;
    int n = o->pp * o->vpp;
    if (s->next[rank] >= order_size(o, rank))
        return false;
    struct order_op op = order_at(o, rank, s->next[rank]);
    int f = op.fwd_chunk * o->pp + rank, b = op.bwd_chunk * o->pp + rank;
    int64_t start = s->free_at[rank], time = 0;
    if (op.fwd_chunk >= 0) {
        int64_t at = input_end(s, n, f, op.fwd_mb, false);
        if (at < 0)
            return false;
        start = at > start ? at : start;
        time += sum_of(in->fwd, cuts[f], cuts[f + 1]);
    }
    if (op.bwd_chunk >= 0) {
        int64_t at = input_end(s, n, b, op.bwd_mb, true);
        if (at < 0)
            return false;
        start = at > start ? at : start;
        time += sum_of(in->bwd, cuts[b], cuts[b + 1]);
    }
    if (op.fwd_chunk >= 0 && op.bwd_chunk >= 0)
        time -= pair_saving(in, cuts, f, b);
    s->free_at[rank] = start + time;
    if (op.fwd_chunk >= 0)
        s->fwd_end[f][op.fwd_mb] = start + time;
    if (op.bwd_chunk >= 0)
        s->bwd_end[b][op.bwd_mb] = start + time;
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
    in->fwd[0] = draw(in, 0, 5);
    in->fwd[p->n_units - 1] = draw(in, 5, 60);
    in->kinds[0] = in->kinds[p->n_units - 1] = PROVE_NO_LAYER;
    p->empty_stages = draw(in, 0, 1);
    p->standalone_mtp = draw(in, 0, 1);
}

static void draw_rest(struct instance *in)
{
    struct prove_problem *p = &in->problem;
    in->saving = (struct prove_saving){in->kinds, draw(in, 0, 8),
                                       draw(in, 0, 4), draw(in, 0, 4)};
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

/* ---- DeepSeek-V3: 61 layers, the first three dense, and one of MTP ---- */

enum { DEEPSEEK_UNITS = 64 };

struct deepseek {
    struct prove_problem problem;
    int64_t fwd[DEEPSEEK_UNITS], bwd[DEEPSEEK_UNITS];
    int n_asked; // by the search whether to end
};

/* E 1, dense 11, others 20, MTP 28, loss 12; backward twice as long. */
static void deepseek_init(struct deepseek *d, int pp, int vpp)
{
    memset(d, 0, sizeof *d);
    for (int u = 0; u < DEEPSEEK_UNITS; u++) {
        d->fwd[u] = u == 0 ? 1 : u <= 3 ? 11 : 20;
        if (u >= DEEPSEEK_UNITS - 2)
            d->fwd[u] = u == DEEPSEEK_UNITS - 1 ? 12 : 28;
        d->bwd[u] = 2 * d->fwd[u];
    }
    d->problem = (struct prove_problem){.order = {pp, vpp, 64, pp, false},
                                        .n_units = DEEPSEEK_UNITS,
                                        .fwd_ns = d->fwd,
                                        .bwd_ns = d->bwd,
                                        .n_mtp = 1,
                                        .empty_stages = true,
                                        .standalone_mtp = true,
                                        .top = 1};
}

static void check_deepseek(int pp, int vpp, int64_t want_ns, const char *space)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    deepseek_init(&d, pp, vpp);
    arena_init(&a);
    enum err e = prove_layouts(&a, &d.problem, &r, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_assert_eq(r.state, PROVE_OPTIMAL);
    cr_assert_eq(r.layouts[0].step_ns, want_ns);
    cr_assert_eq(r.bound_ns, want_ns);
    cr_assert_str_eq(r.space, space);
    arena_clear(&a);
}

Test(prove, deepseek_v3_optima_are_proved)
{
    check_deepseek(16, 1, 18702, "3527930788646880");
    check_deepseek(8, 2, 31962, "3527929709749632");
}

Test(prove, a_gap_is_certified_where_one_is_asked_for)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    deepseek_init(&d, 2, 8);
    d.problem.gap = 0.01;
    arena_init(&a);
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_leq(r.gap, 0.01);
    cr_assert_geq(r.bound_ns, 118000); // the ranks' mean load alone is 118464
    cr_assert_leq(r.bound_ns, r.layouts[0].step_ns);
    arena_clear(&a);
}

static bool interrupt_soon(void *data)
{
    struct deepseek *d = data;
    return ++d->n_asked > 20;
}

/* A search that cannot have ended keeps what it found, and a bound below it. */
static void check_unfinished(const struct prove_result *r)
{
    cr_assert_eq(r->state, PROVE_GAP);
    cr_assert_eq(r->n_layouts, 1);
    cr_assert_lt(r->bound_ns, r->layouts[0].step_ns);
    cr_assert_gt(r->bound_ns, r->layouts[0].step_ns / 2);
    cr_assert_gt(r->gap, 0);
}

Test(prove, time_limit_and_interrupt_leave_the_best_and_a_bound)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    deepseek_init(&d, 16, 3);
    d.problem.time_limit_s = 0.2;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    check_unfinished(&r);
    deepseek_init(&d, 16, 3);
    d.problem.hooks.interrupted = interrupt_soon;
    d.problem.hooks.data = &d;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    check_unfinished(&r);
    cr_assert_leq(d.n_asked, 60); // it ends soon after it was told
    arena_clear(&a);
}

Test(prove, the_best_of_a_large_space_are_listed_in_order)
{
    struct deepseek d;
    struct prove_result r, again;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    deepseek_init(&d, 16, 1);
    d.problem.top = 5;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(prove_layouts(&a, &d.problem, &again, &msg), ERR_OK);
    cr_assert_eq(r.n_layouts, 5);
    cr_assert_eq(r.state, PROVE_OPTIMAL);
    cr_assert_eq(r.layouts[0].step_ns, 18702);
    for (int i = 0; i < 5; i++) {
        const struct prove_layout *l = &r.layouts[i], *before = l - 1;
        cr_assert(i == 0 || l->step_ns > before->step_ns ||
                  (l->step_ns == before->step_ns && l->near >= before->near));
        cr_assert_eq(memcmp(l->cuts, again.layouts[i].cuts, 17 * sizeof(int)),
                     0, "another answer the second time");
    }
    arena_clear(&a);
}

static int64_t one_byte_a_unit(void *data, int stage, int from, int to)
{
    (void)data, (void)stage;
    return to - from;
}

Test(prove, memory_moves_the_optimum_or_leaves_nothing)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    struct prove_memory memory = {.limit_bytes = 5,
                                  .chunk_bytes = one_byte_a_unit};
    arena_init(&a);
    deepseek_init(&d, 16, 1);
    d.problem.memory = &memory;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(r.state, PROVE_OPTIMAL);
    cr_assert_gt(r.layouts[0].step_ns, 18702); // that one has 6 in stage 0
    for (int s = 0; s < 16; s++)
        cr_assert_leq(r.layouts[0].cuts[s + 1] - r.layouts[0].cuts[s], 5);
    memory.limit_bytes = 3; // 48 of 64 units
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(r.n_layouts, 0);
    cr_assert_neq(r.state, PROVE_GAP);
    deepseek_init(&d, 8, 2);
    d.problem.memory = &memory;
    memory.limit_bytes = 7; // 56 of 64: no chunk is too heavy, all together are
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_OK);
    cr_assert_eq(r.n_layouts, 0);
    cr_assert_neq(r.state, PROVE_GAP);
    arena_clear(&a);
}

Test(prove, refusals_name_the_number)
{
    struct deepseek d;
    struct prove_result r;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    deepseek_init(&d, 16, 9);
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_RANGE);
    cr_assert_not_null(strstr(msg.text, "144"));
    deepseek_init(&d, 16, 2);
    d.problem.order.group = 3;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_RANGE);
    deepseek_init(&d, 16, 1);
    d.fwd[5] = -1;
    cr_assert_eq(prove_layouts(&a, &d.problem, &r, &msg), ERR_RANGE);
    cr_assert_not_null(strstr(msg.text, "unit 5"));
    arena_clear(&a);
}
