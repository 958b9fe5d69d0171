/*
 * What the parts of the search share: memory, the clock, and what happens to a
 * complete layout.
 */
#include "proof.h"

#include "base/clock.h"

static const double WORD_EVERY = 0.1; // seconds between progress calls

enum err proof_init(struct arena *a, const struct space *sp, struct lanes *l,
                    struct proof *out, struct err_msg *msg)
{
    size_t cells = (size_t)(sp->n_stages + 1) * (size_t)sp->n_pos;
    *out =
        (struct proof){.arena = a, .sp = sp, .lanes = l, .target = INT64_MAX};
    out->weight = arena_alloc(a, cells, sizeof(int64_t));
    out->ahead = arena_alloc(a, cells, sizeof(int64_t));
    out->behind = arena_alloc(a, cells, sizeof(int64_t));
    out->spare = arena_alloc(a, PROOF_DEPTH + 1, sizeof *out->spare);
    bool ok = out->weight && out->ahead && out->behind && out->spare &&
              best_new(a, sp, &out->best);
    for (int i = 0; ok && i <= PROOF_DEPTH; i++)
        ok = live_new(a, sp, &out->spare[i]);
    if (!ok)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    enum err e = proof_relax_init(out, msg);
    return e == ERR_OK ? proof_dive_init(out, msg) : e;
}

int64_t proof_limit(const struct proof *p)
{
    int64_t limit = best_limit(&p->best);
    return limit < p->target ? limit : p->target;
}

long proof_work(const struct proof *p)
{
    const long nodes_a_pivot = 200; // measured: 7 us against 30 to 50 ns
    return simplex_pivots(p->lp) + p->n_nodes / nodes_a_pivot;
}

bool proof_stop(struct proof *p)
{
    const struct prove_hooks *h = &p->sp->problem->hooks;
    double now = clock_now_s();
    if (p->deadline > 0 && now > p->deadline)
        p->stopped = true;
    if (h->interrupted && h->interrupted(h->data))
        p->interrupted = true;
    if (p->interrupted || (p->work_limit && proof_work(p) > p->work_limit))
        p->stopped = true;
    if (h->progress && now > p->last_word + WORD_EVERY) {
        p->last_word = now;
        h->progress(h->data, p->best.n ? p->best.step_ns[0] : 0, p->proved_ns,
                    now - p->began);
    }
    return p->stopped;
}

int64_t proof_leaf(struct proof *p, const int *pos)
{
    const struct prove_memory *m = p->sp->problem->memory;
    int64_t step;
    lanes_eval(p->lanes, p->sp, pos, 1, &step);
    /* the exact check is the caller's and may be slow: only where it decides */
    if (step <= best_limit(&p->best) && m && m->fits) {
        int cuts[PROVE_MAX_STAGES + 1];
        space_units(p->sp, pos, cuts);
        if (!m->fits(m->data, cuts))
            return INT64_MAX;
    }
    best_offer(&p->best, pos, step);
    return step;
}
