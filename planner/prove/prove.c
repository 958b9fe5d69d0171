/*
 * How it works. Small spaces are enumerated in batches. Others: local search
 * gives a limit, and proof_settle() shows that nothing within the limit is left
 * (or finds it, which lowers the limit). What is wanted may be a gap only: then
 * the limit is lower from the start, by that share. A search that does not end
 * soon first settles large gaps, then smaller ones.
 */
#include "prove.h"

#include "base/clock.h"
#include "descent.h"
#include "proof.h"

#include <math.h>
#include <string.h>

static const double ENUMERATE = 20000; // layouts; cheaper than a proof
enum { PROVE_RANDOM_STARTS = 3 };

/* ---- checks ---- */

static enum err prove_check_sizes(const struct prove_problem *p,
                                  struct err_msg *msg)
{
    int stages = p->order.pp * p->order.vpp;
    if (stages > PROVE_MAX_STAGES)
        return err_set(msg, ERR_RANGE,
                       "layout search: got %d stages, want at "
                       "most %d",
                       stages, PROVE_MAX_STAGES);
    if (p->n_units < 2 + p->n_mtp || p->n_units > PROVE_MAX_UNITS)
        return err_set(msg, ERR_RANGE,
                       "layout search: got %d units, want "
                       "embedding, loss and layers, %d to %d",
                       p->n_units, 2 + p->n_mtp, PROVE_MAX_UNITS);
    if (p->top < 1 || p->top > PROVE_MAX_TOP)
        return err_set(msg, ERR_RANGE,
                       "layout search: best %d asked for, want "
                       "1 to %d",
                       p->top, PROVE_MAX_TOP);
    return ERR_OK;
}

/* Sums over a step must leave room for mixes of paths (proof_prune). */
static enum err prove_check_times(const struct prove_problem *p,
                                  struct err_msg *msg)
{
    const int64_t most = (int64_t)1 << 44; // 4.9 hours in a row
    int64_t all = 0;
    for (int u = 0; u < p->n_units; u++) {
        if (p->fwd_ns[u] < 0 || p->bwd_ns[u] < 0 || p->fwd_ns[u] > most ||
            p->bwd_ns[u] > most)
            return err_set(msg, ERR_RANGE,
                           "layout search: unit %d takes %lld "
                           "and %lld ns, want 0 to 2^44",
                           u, (long long)p->fwd_ns[u], (long long)p->bwd_ns[u]);
        all += p->fwd_ns[u] + p->bwd_ns[u];
    }
    if (all > most / p->order.n_mb)
        return err_set(msg, ERR_RANGE,
                       "layout search: %lld ns a micro-batch, "
                       "%d times, want less than 2^44 ns in all",
                       (long long)all, p->order.n_mb);
    return ERR_OK;
}

static enum err prove_check(const struct prove_problem *p, struct err_msg *msg)
{
    enum err e = order_check(&p->order, msg);
    if (e == ERR_OK)
        e = prove_check_sizes(p, msg);
    return e == ERR_OK ? prove_check_times(p, msg) : e;
}

/* ---- enumeration ---- */

/* Complete layouts on their way to be evaluated side by side. */
struct batch {
    struct proof *p;
    const struct live *l;
    int *pos; // [LANES_WIDE][n_stages + 1]
    int n;
    int *prefix; // [n_stages + 1]
};

static void prove_batch_flush(struct batch *b)
{
    int64_t step[LANES_WIDE];
    const struct prove_memory *m = b->p->sp->problem->memory;
    int size = b->l->n_stages + 1, cuts[PROVE_MAX_STAGES + 1];
    lanes_eval(b->p->lanes, b->p->sp, b->pos, b->n, step);
    for (int i = 0; i < b->n; i++) {
        if (m && m->fits) {
            space_units(b->p->sp, b->pos + i * size, cuts);
            if (!m->fits(m->data, cuts))
                continue;
        }
        best_offer(&b->p->best, b->pos + i * size, step[i]);
    }
    b->n = 0;
}

static bool prove_batch_fits(const struct batch *b)
{
    const struct space *sp = b->p->sp;
    int64_t used[PROVE_MAX_STAGES] = {0};
    for (int s = 0; sp->bytes && s < sp->n_stages; s++) {
        int64_t *rank = &used[s % sp->pp];
        *rank += space_bytes(sp, s, b->prefix[s], b->prefix[s + 1]);
        if (*rank > sp->limit_bytes)
            return false;
    }
    return true;
}

/* False when time ran out. */
static bool prove_batch_visit(struct batch *b, int s)
{
    const struct live *l = b->l;
    if (s == l->n_stages) {
        if (!prove_batch_fits(b))
            return true;
        memcpy(b->pos + b->n * (s + 1), b->prefix,
               sizeof *b->pos * (size_t)(s + 1));
        if (++b->n < LANES_WIDE)
            return true;
        prove_batch_flush(b);
        return !proof_stop(b->p);
    }
    const uint64_t *arc = live_arc(l, s, b->prefix[s]);
    for (int to = live_next(arc, l->words, 0); to >= 0;
         to = live_next(arc, l->words, to + 1)) {
        b->prefix[s + 1] = to;
        if (!prove_batch_visit(b, s + 1))
            return false;
    }
    return true;
}

static enum err prove_enumerate(struct proof *p, const struct live *l,
                                bool *done, struct err_msg *msg)
{
    size_t size = (size_t)l->n_stages + 1;
    struct batch b = {.p = p, .l = l};
    b.pos = arena_alloc(p->arena, size * LANES_WIDE, sizeof *b.pos);
    b.prefix = arena_alloc(p->arena, size, sizeof *b.prefix);
    if (!b.pos || !b.prefix)
        return err_set(msg, ERR_NOMEM, "layout search: out of memory");
    *done = prove_batch_visit(&b, 0);
    prove_batch_flush(&b);
    return ERR_OK;
}

/* ---- the search ---- */

/* A limit such that, once no layout is within it, the listed ones are within
 * `gap`: listed <= (limit + 1) * (1 + gap). */
static int64_t prove_target(const struct proof *p, double gap)
{
    int64_t worst = best_limit(&p->best) + 1;
    return gap > 0 ? (int64_t)ceil((double)worst / (1 + gap)) - 1 : INT64_MAX;
}

/* Tries to settle that nothing better than the listed ones by more than `gap`
 * is left; false when time, or `work` (0: no limit), ran out first. */
static bool prove_attempt(struct proof *p, const struct live *root, double gap,
                          long work)
{
    struct live *l = &p->spare[PROOF_DEPTH];
    p->target = prove_target(p, gap);
    p->work_limit = work ? proof_work(p) + work : 0;
    p->stopped = false;
    live_copy(l, root);
    bool settled = !proof_stop(p) && proof_settle(p, l);
    if (settled && proof_limit(p) + 1 > p->proved_ns)
        p->proved_ns = proof_limit(p) + 1;
    p->work_limit = 0;
    p->stopped = false;
    return settled;
}

/* The mean time that a rank works. A combined operation cannot save more than
 * its forward chunk could, nor more than its backward chunk. */
static int64_t prove_mean_load(const struct space *sp)
{
    int last = sp->n_pos - 1;
    int64_t fwd = sp->sum[SPACE_SAVE_FWD][last];
    int64_t bwd = sp->sum[SPACE_SAVE_BWD][last];
    int64_t work = sp->sum[SPACE_FWD][last] + sp->sum[SPACE_BWD][last] +
                   (fwd > bwd ? fwd : bwd); // savings are negative
    return work * sp->problem->order.n_mb / sp->pp;
}

/* The whole answer first; what does not end soon goes by smaller and smaller
 * gaps, so that an early end leaves the last of them. True when the wanted gap
 * was settled. */
static bool prove_search(struct proof *p, const struct live *root)
{
    static const double STEPS[] = {0.04, 0.02, 0.01, 0.005, 0.0025};
    const double share = 0.5;     // of a time limit, for the first attempt
    const long at_once = 1500000; // work, as long: about ten seconds
    double goal = p->sp->problem->gap, deadline = p->deadline;
    int64_t relaxed = proof_relax_bound(p, root);
    p->proved_ns = prove_mean_load(p->sp);
    p->proved_ns = relaxed > p->proved_ns ? relaxed : p->proved_ns;
    if (deadline > 0)
        p->deadline = p->began + share * p->sp->problem->time_limit_s;
    if (prove_attempt(p, root, goal, at_once))
        return true;
    p->deadline = deadline;
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        if (STEPS[i] <= goal || prove_target(p, STEPS[i]) < p->proved_ns)
            continue;
        if (!prove_attempt(p, root, STEPS[i], 0))
            return false;
    }
    return prove_attempt(p, root, goal, 0);
}

/* ---- the answer ---- */

/* Copies the list to the caller's arena. Once settled, the bound is the worst
 * listed step itself: nothing outside the list is faster. */
static enum err prove_fill(struct arena *a, const struct proof *p,
                           struct prove_result *out, struct err_msg *msg)
{
    int size = p->sp->n_stages + 1, n = p->best.n;
    out->layouts = arena_alloc(a, (size_t)n, sizeof *out->layouts);
    int *cuts = arena_alloc(a, (size_t)(n * size), sizeof *cuts);
    if (!out->layouts || !cuts)
        return err_set(msg, ERR_NOMEM, "layout search: out of memory");
    for (int i = 0; i < n; i++, cuts += size) {
        space_units(p->sp, p->best.pos + i * size, cuts);
        out->layouts[i] =
            (struct prove_layout){cuts, p->best.step_ns[i], p->best.near[i]};
    }
    out->n_layouts = n;
    out->bound_ns = p->proved_ns;
    int64_t worst = n ? p->best.step_ns[n - 1] : 0;
    if (out->state != PROVE_GAP || worst < out->bound_ns)
        out->bound_ns = worst;
    out->gap =
        out->bound_ns > 0 ? (double)worst / (double)out->bound_ns - 1 : 0;
    out->n_evaluated = p->best.n_seen;
    out->seconds = clock_now_s() - p->began;
    return ERR_OK;
}

static enum err prove_run(struct arena *scratch, struct proof *p,
                          struct prove_result *out, struct err_msg *msg)
{
    struct live root;
    double n = space_count(p->sp, out->space);
    int64_t up_to = p->sp->problem->enumerate_up_to;
    if (!live_new(scratch, p->sp, &root))
        return err_set(msg, ERR_NOMEM, "layout search: out of memory");
    if (n < 1)
        return err_set(msg, ERR_RANGE,
                       "layout search: no layout of %d units "
                       "on %d stages",
                       p->sp->problem->n_units, p->sp->n_stages);
    out->state = PROVE_ENUMERATED;
    if (!live_fill(&root, p->sp) || !proof_prune_bytes(p, &root))
        return ERR_OK;
    if (n <= (up_to ? (double)up_to : ENUMERATE) || p->sp->n_stages == 1) {
        bool done = false;
        enum err e = prove_enumerate(p, &root, &done, msg);
        out->state = done ? PROVE_ENUMERATED : PROVE_GAP;
        return e;
    }
    enum err e = descent_run(p, &root, PROVE_RANDOM_STARTS, msg);
    if (e != ERR_OK)
        return e;
    bool settled = prove_search(p, &root);
    out->state = settled && p->proved_ns > best_limit(&p->best) ? PROVE_OPTIMAL
                                                                : PROVE_GAP;
    return ERR_OK;
}

enum err prove_layouts(struct arena *a, const struct prove_problem *problem,
                       struct prove_result *out, struct err_msg *msg)
{
    struct arena scratch;
    struct space sp;
    struct lanes *lanes = NULL;
    struct proof *p = NULL;
    double began = clock_now_s();
    enum err e = prove_check(problem, msg);
    if (e != ERR_OK)
        return e;
    arena_init(&scratch);
    *out = (struct prove_result){0};
    p = arena_alloc(&scratch, 1, sizeof *p);
    if (!p)
        e = err_set(msg, ERR_NOMEM, "layout search: out of memory");
    if (e == ERR_OK)
        e = space_init(&scratch, problem, &sp, msg);
    if (e == ERR_OK)
        e = lanes_new(&scratch, &sp, &lanes, msg);
    if (e == ERR_OK)
        e = proof_init(&scratch, &sp, lanes, p, msg);
    if (e != ERR_OK)
        goto done;
    p->began = began;
    p->deadline = problem->time_limit_s > 0 ? began + problem->time_limit_s : 0;
    e = prove_run(&scratch, p, out, msg);
    if (e == ERR_OK)
        e = prove_fill(a, p, out, msg);
done:
    arena_clear(&scratch);
    return e;
}
