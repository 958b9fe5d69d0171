/*
 * How it works: every row has an engine whose costs are ours to write, so that
 * other constants are other costs there. The derivative of a step by a constant
 * is a difference of two simulations; with it, and the step where it was taken,
 * a row of least squares in the constants, less what is least of each, which
 * cannot be negative. Steps are halved at first: products change between FLOPs
 * and bytes.
 */
#include "roofline_fit.h"

#include "cost/lsq.h"
#include "model/weights.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

enum { NODE = 8 }; // cards that share a way out, of all machines in the rows
enum { ROUNDS = 16, HALVED = 10 };

static const double NUDGE = 1e-3;
static const double NUDGE_LEAST = 1e-9; // a constant of 0 is moved, too

struct bench_row {
    struct work *work; // [N_KINDS]
    struct schedule schedule;
    struct cost *cost; // the engine's
    struct plan_engine *engine;
    double network_s; // of gradients, at the network's peak
};

struct roofline_bench {
    const struct roofline_rows *rows;
    struct bench_row *row;
};

/* ---- gradients that leave a node ---- */

/* How many times the number of parameters that `share` ranks hold together
 * leaves a node: replicas on a node add up among themselves first, a ring over
 * the nodes does the rest. */
static double leaving(double share, double replicas)
{
    const double inside = fmin(replicas, fmax(1, floor(NODE / share)));
    const double nodes = replicas / inside;
    return nodes > 1 ? 2 * (nodes - 1) / nodes * fmin(1, NODE / share) : 0;
}

/* Bytes of one unit's gradients that leave each node of its ranks. */
static double unit_leaving(const struct model *m, enum unit_kind kind)
{
    const double ranks = (double)m->par.tp * m->par.cp * m->par.dp;
    const double experts = (double)m->par.ep * m->par.etp;
    const double grad = m->memory.grad_bytes > 0 ? m->memory.grad_bytes : 4;
    struct weights t;
    double bytes = 0;
    weights_of_unit(m, kind, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++) {
        const struct weight *w = &t.row[i];
        const double share = w->expert ? experts : m->par.tp;
        if (WEIGHT_USE[w->role].trained)
            bytes +=
                grad * (double)weight_params(w) * leaving(share, ranks / share);
    }
    return bytes;
}

/* Of the pipeline rank with the most; the cards of a node share the way. */
static double network_s(const struct roofline_row *r)
{
    double most = 0;
    for (int rank = 0; rank < r->layout.pp; rank++) {
        double bytes = 0;
        for (int s = rank; s < r->layout.n_stages; s += r->layout.pp) {
            int n[N_KINDS];
            layout_stage_kinds(&r->layout, &r->model, s, n);
            for (int k = 0; k < N_KINDS; k++)
                if (n[k] > 0)
                    bytes += n[k] * unit_leaving(&r->model, (enum unit_kind)k);
        }
        most = fmax(most, bytes);
    }
    return most / (NODE * r->card->net_bytes_s);
}

/* ---- one row ---- */

/* Network time stands beside the pipeline: the model has it as a sum that one
 * price multiplies. */
static enum err open_row(struct arena *a, const struct roofline_row *from,
                         struct bench_row *to, struct err_msg *msg)
{
    struct order order = order_of_model(&from->model);
    order.vpp = from->layout.vpp;
    enum err e = roofline_check(&from->model, from->id, msg);
    if (e == ERR_OK)
        e = schedule_outline(&order, P2P_IDEAL, &to->schedule, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", from->id);
    to->cost = arena_alloc(a, 1, sizeof *to->cost);
    to->work = arena_alloc(a, N_KINDS, sizeof *to->work);
    if (!to->cost || !to->work)
        return err_set(msg, ERR_NOMEM, "roofline: out of memory");
    roofline_costs(&ROOFLINE_FITTED, from->card, &from->model, to->cost);
    for (int k = 0; k < N_KINDS; k++)
        work_of_unit(&from->model, (enum unit_kind)k, &to->work[k]);
    to->network_s = network_s(from);
    struct plan_context ctx = {.model = &from->model,
                               .mode = P2P_IDEAL,
                               .n_mb = order.n_mb,
                               .schedule = &to->schedule};
    plan_context_costs(&ctx, to->cost);
    to->engine = plan_engine_new(a, &ctx);
    return to->engine ? ERR_OK
                      : err_set(msg, ERR_NOMEM, "roofline: out of memory");
}

enum err roofline_bench_new(struct arena *a, const struct roofline_rows *rows,
                            struct roofline_bench **out, struct err_msg *msg)
{
    struct roofline_bench *b = arena_alloc(a, 1, sizeof *b);
    struct bench_row *row = arena_alloc(a, (size_t)rows->n + 1, sizeof *row);
    if (!b || !row)
        return err_set(msg, ERR_NOMEM, "roofline: out of memory");
    *b = (struct roofline_bench){rows, row};
    for (int i = 0; i < rows->n; i++) {
        const enum err e = open_row(a, &rows->row[i], &row[i], msg);
        if (e != ERR_OK)
            return e;
    }
    *out = b;
    return ERR_OK;
}

const struct roofline_rows *roofline_bench_rows(const struct roofline_bench *b)
{
    return b->rows;
}

/* Writes the row's costs and simulates; without backwards these take nothing.
 */
static enum err bench_time(struct roofline_bench *b, int i,
                           const struct roofline *r, bool backward,
                           double *out_s)
{
    const struct roofline_row *from = &b->rows->row[i];
    struct bench_row *row = &b->row[i];
    for (int k = 0; k < N_KINDS; k++) {
        struct unit_cost *u = &row->cost->unit[k];
        const struct work *w = &row->work[k];
        u->fwd_s =
            roofline_pass_s(r, from->card, &from->model.par, &w->forward);
        u->bwd_s = backward ? roofline_pass_s(r, from->card, &from->model.par,
                                              &w->backward)
                            : 0;
    }
    return plan_engine_step(row->engine, &from->layout, out_s);
}

enum err roofline_step(struct roofline_bench *b, int i,
                       const struct roofline *r, double *step_s,
                       struct err_msg *msg)
{
    double s = 0;
    const enum err e = bench_time(b, i, r, true, &s);
    if (e != ERR_OK)
        return err_set(msg, e, "%s: %s", b->rows->row[i].id,
                       plan_engine_error(b->row[i].engine));
    *step_s = s + r->price[ROOFLINE_NETWORK] * b->row[i].network_s;
    return ERR_OK;
}

enum err roofline_forward(struct roofline_bench *b, int i,
                          const struct roofline *r, double *forward_s,
                          struct err_msg *msg)
{
    const enum err e = bench_time(b, i, r, false, forward_s);
    return e == ERR_OK ? e
                       : err_set(msg, e, "%s: %s", b->rows->row[i].id,
                                 plan_engine_error(b->row[i].engine));
}

/* ---- the fit ---- */

struct fit_system {
    double *a, *b; // n rows of N_ROOFLINE, divided by their measured steps
    int n;
};

static bool feeds(const struct roofline_row *r)
{
    return r->fit && r->meas_step_s > 0;
}

/* Runs of one configuration together weigh as one. */
static double weight_of(const struct roofline_rows *rows, int at)
{
    int same = 0;
    for (int i = 0; i < rows->n; i++)
        same += feeds(&rows->row[i]) &&
                strcmp(rows->row[i].config, rows->row[at].config) == 0;
    return 1 / sqrt(same);
}

/* The row about the constants `r`, in what each is above its least. */
static enum err add_equation(struct roofline_bench *b, int i,
                             const struct roofline *r, struct fit_system *to,
                             struct err_msg *msg)
{
    const struct roofline_row *row = &b->rows->row[i];
    const double w = weight_of(b->rows, i) / row->meas_step_s;
    double *line = to->a + (size_t)to->n * N_ROOFLINE, here, there;
    enum err e = roofline_step(b, i, r, &here, msg);
    double left = row->meas_step_s - here;
    for (int p = 0; p < N_ROOFLINE && e == ERR_OK; p++) {
        struct roofline moved = *r;
        const double by = NUDGE * r->price[p] + NUDGE_LEAST;
        moved.price[p] += by;
        e = roofline_step(b, i, &moved, &there, msg);
        line[p] = (there - here) / by * w;
        left += (there - here) / by * (r->price[p] - roofline_least(p));
    }
    to->b[to->n] = left * w;
    to->n += e == ERR_OK;
    return e;
}

static enum err make_system(struct roofline_bench *b, const struct roofline *r,
                            struct fit_system *to, struct err_msg *msg)
{
    enum err e = ERR_OK;
    to->n = 0;
    for (int i = 0; i < b->rows->n && e == ERR_OK; i++)
        if (feeds(&b->rows->row[i]))
            e = add_equation(b, i, r, to, msg);
    return e;
}

/* Begins in the middle of what is possible, so that nothing of an earlier fit
 * goes into a new one. */
static const struct roofline FIRST = {{
    [ROOFLINE_PRODUCT] = 2,
    [ROOFLINE_FP8] = 2,
    [ROOFLINE_EXPERTS] = 2,
    [ROOFLINE_ODD] = 1.5,
    [ROOFLINE_BYTES] = 1.5,
    [ROOFLINE_KERNEL] = 1e-5,
    [ROOFLINE_NETWORK] = 1,
}};

/* Rows of one configuration share a weight whose squares add up to 1: they
 * count once. */
static enum err count_rows(const struct roofline_rows *rows,
                           struct roofline_fit *out, struct err_msg *msg)
{
    double configs = 0;
    for (int i = 0; i < rows->n; i++)
        if (feeds(&rows->row[i])) {
            const double w = weight_of(rows, i);
            configs += w * w;
            out->n_rows++;
        }
    out->n_configs = (int)lround(configs);
    if (out->n_configs > N_ROOFLINE)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "roofline: %d configurations to fit %d constants, want more",
                   out->n_configs, (int)N_ROOFLINE);
}

/* A column of zeroes is told apart by nothing. */
static enum err finish(struct arena *a, const struct fit_system *s,
                       const struct lsq_solution *x, struct roofline_fit *out,
                       struct err_msg *msg)
{
    const struct lsq_problem p = {s->n, N_ROOFLINE, s->a, s->b};
    struct lsq_rank rank;
    const enum err e = lsq_rank(a, &p, &rank, msg);
    if (e != ERR_OK)
        return e;
    for (int k = 0; k < N_ROOFLINE; k++) {
        out->se[k] = x->se[k];
        out->told[k] = rank.determined[k];
        out->at_least[k] = x->x[k] <= 0;
    }
    return ERR_OK;
}

/* Gauss-Newton: in every round rows are made anew about its constants. */
enum err roofline_fit(struct arena *a, struct roofline_bench *b,
                      struct roofline_fit *out, struct err_msg *msg)
{
    struct roofline_fit f = {.constants = FIRST};
    struct lsq_solution x = {.variance = 0};
    enum err e = count_rows(b->rows, &f, msg);
    if (e != ERR_OK)
        return e;
    const size_t n = (size_t)f.n_rows;
    struct fit_system s = {arena_alloc(a, n * N_ROOFLINE, sizeof *s.a),
                           arena_alloc(a, n, sizeof *s.b), 0};
    if (!s.a || !s.b)
        return err_set(msg, ERR_NOMEM, "roofline: out of memory");
    for (int round = 0; round < ROUNDS && e == ERR_OK; round++) {
        const double take = round < HALVED ? 0.5 : 1;
        e = make_system(b, &f.constants, &s, msg);
        const struct lsq_problem p = {s.n, N_ROOFLINE, s.a, s.b};
        if (e == ERR_OK)
            e = lsq_nnls(a, &p, &x, msg);
        for (int k = 0; k < N_ROOFLINE && e == ERR_OK; k++) {
            const double found = x.x[k] + roofline_least(k);
            f.constants.price[k] += take * (found - f.constants.price[k]);
        }
    }
    if (e == ERR_OK)
        e = finish(a, &s, &x, &f, msg);
    if (e == ERR_OK)
        *out = f;
    return e;
}
