/*
 * How it works: a rank works, or it is in an exchange, until its list ends; so
 * the simulated time in exchanges is its end less its work, with the run's own
 * times of work. That is a piecewise linear, growing function of the latencies
 * (one, or two with nodes apart): Gauss-Newton with non-negative unknowns, a
 * step halved while it makes things worse. What jitter adds to the time in
 * exchanges is sampled at the latencies found, and the fit done once more.
 */
#include "transfers.h"

#include "cost/lsq.h"
#include "plan/jitter.h"
#include "run_view.h"
#include "sim/transfer.h"

#include <math.h>
#include <string.h>

enum { TRANSFERS_INSIDE, TRANSFERS_BETWEEN, TRANSFERS_N_LINKS };
enum { TRANSFERS_MAX_ROUNDS = 30, TRANSFERS_MAX_HALVINGS = 8 };
// Pairs of samples of single operations, to tell what jitter adds; twice, as
// that depends on latencies.
enum { TRANSFERS_SAMPLES = 64, TRANSFERS_JITTER_ROUNDS = 2 };
static const double CLOSE = 1e-4; // of a latency: timers tell it far worse
// A difference quotient's step, of the mean stage time: well below a transfer
// that matters, well above rounding.
static const double NUDGE = 1e-3;

/* Timers that hold transfers, as Megatron names them (p2p_communication.py).
 */
static const char *const TIMERS[] = {
    "forward-recv",
    "forward-send",
    "backward-recv",
    "backward-send",
    "forward-send-forward-recv",
    "forward-send-backward-recv",
    "backward-send-forward-recv",
    "backward-send-backward-recv",
    "forward-backward-send-forward-backward-recv"};

/* One run that tells something. */
struct seen {
    const struct fit_run *run;
    struct run_view view;
    double *stage_s;             // of its own timers, forwards and backwards
    double *op_fwd_s, *op_bwd_s; // [stage * n_mb + mb]
    double *meas_s;              // [pp], a step in exchanges
    double *jitter_s;            // [pp], what jitter adds to it
};

struct exchanges {
    struct arena *arena; // of what stays
    struct seen *seen;
    int n_seen, n_rows;
    struct cost cost; // with the latencies that are tried
    int link[TRANSFERS_N_LINKS], n_links;
    double nudge_s;
    double *rows; // n_rows predictions a set: now, and one a link moved
    double *a, *b;
};

/* ---- what the logs say ---- */

/* Sum of all exchange timers of each rank of the pipeline, seconds a step;
 * false when there is none. */
static bool measured(struct arena *a, const struct plan_context *ctx,
                     const struct fit_run *run, double *out)
{
    const int pp = run->layout.pp;
    bool any = false;
    double *one = arena_alloc(a, (size_t)pp, sizeof *one);
    memset(out, 0, (size_t)pp * sizeof *out);
    for (size_t i = 0; one && i < sizeof TIMERS / sizeof TIMERS[0]; i++) {
        const struct fit_timer timer = {ctx->model, run, TIMERS[i]};
        if (fit_stage_times(a, &timer, one, NULL) != ERR_OK)
            continue;
        any = true;
        for (int r = 0; r < pp; r++)
            out[r] += isfinite(one[r]) ? one[r] : 0;
    }
    return any;
}

static enum err no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "transfers: out of memory");
}

/* Adds a run when its exchanges were timed and waited for: the timer of a
 * message that is posted ends before the message does. Exchanges behind
 * standalone MTP tell a shape and synchronise too, which takes time that
 * nobody knows. */
static enum err add_run(struct exchanges *x, const struct plan_context *ctx,
                        const struct fit_run *run, struct err_msg *msg)
{
    struct arena *a = x->arena;
    struct seen *s = &x->seen[x->n_seen];
    const struct layout *l = &run->layout;
    const size_t n = (size_t)l->n_stages, ops = n * (size_t)ctx->n_mb;
    enum err e = run_view_make(ctx, run, false, &s->view, msg);
    if (e != ERR_OK || l->pp == 1 || s->view.ctx.mode != P2P_BLOCKING ||
        layout_mtp_standalone(l))
        return e;
    s->run = run;
    s->meas_s = arena_alloc(a, 2 * (size_t)l->pp, sizeof *s->meas_s);
    s->stage_s = arena_alloc(a, 2 * n, sizeof *s->stage_s);
    s->op_fwd_s = arena_alloc(a, 2 * ops, sizeof *s->op_fwd_s);
    if (!s->meas_s || !s->stage_s || !s->op_fwd_s)
        return no_memory(msg);
    s->jitter_s = s->meas_s + l->pp;
    if (!measured(a, ctx, run, s->meas_s))
        return ERR_OK;
    e = run_view_times(a, &s->view, &x->cost, s->stage_s, msg);
    s->op_bwd_s = s->op_fwd_s + ops;
    for (size_t i = 0; i < ops; i++) {
        s->op_fwd_s[i] = s->stage_s[i / (size_t)ctx->n_mb];
        s->op_bwd_s[i] = s->stage_s[n + i / (size_t)ctx->n_mb];
    }
    s->view.ctx.cost = &x->cost;
    x->nudge_s = fmax(x->nudge_s, NUDGE * s->stage_s[0]);
    x->n_rows += l->pp;
    x->n_seen++;
    return e;
}

/* Which kinds of boundary the runs have. The wrap-around boundary is used with
 * several chunks a rank only. */
static void find_links(struct exchanges *x, const struct plan_context *ctx)
{
    bool has[TRANSFERS_N_LINKS] = {false, false};
    for (int i = 0; i < x->n_seen; i++) {
        const struct layout *l = &x->seen[i].run->layout;
        const int n = l->vpp > 1 ? l->pp : l->pp - 1;
        for (int r = 0; r < n; r++)
            has[transfer_between_nodes(&ctx->model->par, l->pp,
                                       ctx->gpus_per_node, r)
                    ? TRANSFERS_BETWEEN
                    : TRANSFERS_INSIDE] = true;
    }
    x->cost.parted =
        x->cost.parted || (has[TRANSFERS_INSIDE] && has[TRANSFERS_BETWEEN]);
    x->n_links = 0;
    if (has[TRANSFERS_INSIDE] ||
        !x->cost.parted) // of all, when there is only one kind
        x->link[x->n_links++] = TRANSFERS_INSIDE;
    if (has[TRANSFERS_BETWEEN] && x->cost.parted)
        x->link[x->n_links++] = TRANSFERS_BETWEEN;
}

/* ---- what the simulator says ---- */

static double *latency_of(struct exchanges *x, int i)
{
    return x->link[i] == TRANSFERS_INSIDE ? &x->cost.latency_s
                                          : &x->cost.between.latency_s;
}

/* Adds `by` times what each rank spends in exchanges to out[pp]. */
static enum err add_exchanges(const struct seen *s, const struct plan_ops *ops,
                              double by, double *out, struct err_msg *msg)
{
    struct arena scratch;
    struct sim_result r;
    arena_init(&scratch);
    enum err e = plan_simulate_ops(&scratch, &s->view.ctx, ops, &r, msg);
    for (int k = 0; k < ops->layout->pp && e == ERR_OK; k++)
        out[k] += by * (r.finish_s[k] - r.busy_s[k]);
    arena_clear(&scratch);
    return e;
}

/* The mirror image of a sample: with exp(mu + sigma z) drawn, exp(mu - sigma
 * z), where exp(2 mu) = 1 / (1 + cv^2). The two are off in opposite directions,
 * so that little scatter is left of their mean (antithetic variates). */
static void mirror(const double *mean, double cv, size_t n, double *op)
{
    for (size_t i = 0; i < n; i++)
        if (op[i] > 0)
            op[i] = mean[i] * mean[i] / ((1 + cv * cv) * op[i]);
}

/* What jitter adds to the time in exchanges at the latencies of now. */
static enum err sample_jitter(struct seen *s, struct err_msg *msg)
{
    const struct layout *l = &s->run->layout;
    const struct plan_context *ctx = &s->view.ctx;
    const double cv = ctx->cost->jitter_cv;
    const struct jitter_times mean = {l, s->stage_s, s->stage_s + l->n_stages};
    const struct plan_ops steady = {l, s->op_fwd_s, s->op_bwd_s};
    const size_t n = (size_t)l->n_stages * (size_t)ctx->n_mb;
    struct arena scratch;
    memset(s->jitter_s, 0, (size_t)l->pp * sizeof *s->jitter_s);
    arena_init(&scratch);
    double *op = arena_alloc(&scratch, 2 * n, sizeof *op);
    enum err e =
        op ? add_exchanges(s, &steady, -1, s->jitter_s, msg) : no_memory(msg);
    for (int i = 0; i < 2 * TRANSFERS_SAMPLES && e == ERR_OK; i++) {
        const struct plan_ops ops = {l, op, op + n};
        if (i % 2 == 0)
            jitter_draw(&mean, ctx, i, op, op + n);
        else
            mirror(s->op_fwd_s, cv, 2 * n, op); // backwards stand behind
        e = add_exchanges(s, &ops, 0.5 / TRANSFERS_SAMPLES, s->jitter_s, msg);
    }
    arena_clear(&scratch);
    return e;
}

/* Seconds in exchanges of every rank of every run, under x->cost. */
static enum err predict(struct exchanges *x, double *rows, struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < x->n_seen && e == ERR_OK; i++) {
        const struct seen *s = &x->seen[i];
        const int pp = s->run->layout.pp;
        const struct plan_ops ops = {&s->run->layout, s->op_fwd_s, s->op_bwd_s};
        memcpy(rows, s->jitter_s, (size_t)pp * sizeof *rows);
        e = add_exchanges(s, &ops, 1, rows, msg);
        rows += pp;
    }
    return e;
}

/* Sum of squares of measured less predicted. */
static double misfit(const struct exchanges *x, const double *rows)
{
    double sum = 0;
    for (int i = 0; i < x->n_seen; i++)
        for (int r = 0; r < x->seen[i].run->layout.pp; r++) {
            const double d = x->seen[i].meas_s[r] - *rows++;
            sum += d * d;
        }
    return sum;
}

/* ---- the fit ---- */

/* The linearised problem about the latencies of now: J u = measured - predicted
 * + J u_now. */
static enum err linearise(struct exchanges *x, struct err_msg *msg)
{
    double *now = x->rows, *moved = x->rows + x->n_rows;
    for (int j = 0; j < x->n_links; j++) {
        double *u = latency_of(x, j);
        const double kept = *u;
        *u += x->nudge_s;
        enum err e = predict(x, moved, msg);
        *u = kept;
        if (e != ERR_OK)
            return e;
        for (int i = 0; i < x->n_rows; i++)
            x->a[i * x->n_links + j] = (moved[i] - now[i]) / x->nudge_s;
    }
    int i = 0;
    for (int k = 0; k < x->n_seen; k++)
        for (int r = 0; r < x->seen[k].run->layout.pp; r++, i++) {
            x->b[i] = x->seen[k].meas_s[r] - now[i];
            for (int j = 0; j < x->n_links; j++)
                x->b[i] += x->a[i * x->n_links + j] * *latency_of(x, j);
        }
    return ERR_OK;
}

/* Goes from the latencies of now towards `to`, half as far as long as the
 * misfit grows; *done when nothing is gained, or little was moved. */
static enum err go(struct exchanges *x, const double *to, bool *done,
                   struct err_msg *msg)
{
    double from[TRANSFERS_N_LINKS], best = misfit(x, x->rows), part = 1;
    double *moved = x->rows + x->n_rows;
    for (int j = 0; j < x->n_links; j++)
        from[j] = *latency_of(x, j);
    for (int half = 0; half < TRANSFERS_MAX_HALVINGS; half++, part /= 2) {
        for (int j = 0; j < x->n_links; j++)
            *latency_of(x, j) = from[j] + part * (to[j] - from[j]);
        enum err e = predict(x, moved, msg);
        if (e != ERR_OK)
            return e;
        if (misfit(x, moved) >= best)
            continue;
        memcpy(x->rows, moved, (size_t)x->n_rows * sizeof *moved);
        *done = true;
        for (int j = 0; j < x->n_links; j++)
            *done = *done && fabs(*latency_of(x, j) - from[j]) <=
                                 CLOSE * *latency_of(x, j);
        return ERR_OK;
    }
    for (int j = 0; j < x->n_links; j++)
        *latency_of(x, j) = from[j];
    *done = true;
    return ERR_OK;
}

static enum err search(struct exchanges *x, struct lsq_solution *s,
                       struct err_msg *msg)
{
    enum err e = predict(x, x->rows, msg);
    bool done = false;
    for (int i = 0; i < TRANSFERS_MAX_ROUNDS && !done && e == ERR_OK; i++) {
        e = linearise(x, msg);
        const struct lsq_problem p = {x->n_rows, x->n_links, x->a, x->b};
        if (e == ERR_OK)
            e = lsq_nnls(x->arena, &p, s, msg);
        if (e == ERR_OK)
            e = go(x, s->x, &done, msg);
    }
    return e;
}

/* Without jitter one search is all; with it, its share is sampled in between.
 */
static enum err search_all(struct exchanges *x, struct lsq_solution *s,
                           struct err_msg *msg)
{
    const int rounds = x->cost.jitter_cv > 0 ? TRANSFERS_JITTER_ROUNDS : 0;
    enum err e = search(x, s, msg);
    for (int k = 0; k < rounds && e == ERR_OK; k++) {
        for (int i = 0; i < x->n_seen && e == ERR_OK; i++)
            e = sample_jitter(&x->seen[i], msg);
        if (e == ERR_OK)
            e = search(x, s, msg);
    }
    return e;
}

static const char *transfers_note(struct exchanges *x,
                                  const struct lsq_solution *s)
{
    const char *each[TRANSFERS_N_LINKS] = {"", ""};
    bool rate = false;
    for (int j = 0; j < x->n_links && each[0]; j++) {
        const char *where = !x->cost.parted                  ? ""
                            : x->link[j] == TRANSFERS_INSIDE ? " inside a node"
                                                             : " between nodes";
        rate = rate || (x->link[j] == TRANSFERS_INSIDE
                            ? x->cost.bytes_per_s
                            : x->cost.between.bytes_per_s) > 0;
        each[j] =
            arena_printf(x->arena, "%s%.1f us (+- %.1f)%s", j ? " and " : "",
                         *latency_of(x, j) * 1e6, 1.96e6 * s->se[j], where);
    }
    if (!each[0] || !each[1])
        return NULL;
    return arena_printf(
        x->arena, "latency of a transfer: %s%s, from the timers of exchanges%s",
        each[0], each[1],
        rate ? " and the bandwidth given"
             : "; messages are of one size, so that it is all of a transfer");
}

static enum err fit_seen(struct exchanges *x, const struct plan_context *ctx,
                         struct cost *cost, const char **note,
                         struct err_msg *msg)
{
    struct lsq_solution s = {.variance = 0};
    const size_t n = (size_t)x->n_rows;
    find_links(x, ctx);
    x->rows = arena_alloc(x->arena, 2 * n, sizeof *x->rows);
    x->a = arena_alloc(x->arena, n * TRANSFERS_N_LINKS, sizeof *x->a);
    x->b = arena_alloc(x->arena, n, sizeof *x->b);
    if (!x->rows || !x->a || !x->b)
        return no_memory(msg);
    enum err e = search_all(x, &s, msg);
    if (e != ERR_OK)
        return e;
    cost->latency_s = x->cost.latency_s;
    cost->between = x->cost.between;
    cost->parted = x->cost.parted;
    *note = transfers_note(x, &s);
    return *note ? ERR_OK : no_memory(msg);
}

/* Exchanges are timed inside the step: what is outside of it is no part of
 * them. */
enum err transfers_fit(struct arena *a, const struct plan_context *ctx,
                       const struct overhead_runs *runs, struct transfers *out,
                       struct err_msg *msg)
{
    struct exchanges x = {.arena = a, .cost = *out->cost};
    out->note = NULL;
    x.seen = arena_alloc(a, (size_t)runs->n, sizeof *x.seen);
    if (!x.seen)
        return no_memory(msg);
    x.cost.overhead_s = x.cost.overhead_s_per_byte = 0;
    for (int i = 0; i < runs->n; i++) {
        if (isfinite(runs->runs[i].log->p2p_latency_s))
            return ERR_OK; // the log states its link
        enum err e = add_run(&x, ctx, &runs->runs[i], msg);
        if (e != ERR_OK)
            return e;
    }
    return x.n_seen ? fit_seen(&x, ctx, out->cost, &out->note, msg) : ERR_OK;
}
