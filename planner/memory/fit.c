/*
 * How it works: a peak is (nearly) linear in what each kind of unit keeps, so
 * one row of the problem is the derivative of a rank's predicted peak by each
 * unknown, found by moving it a little. Unknowns are factors with prior 1;
 * what every rank holds more is 1 + bytes/scale, so that all are positive and
 * of one size for the non-negative solver.
 */
#include "fit.h"

#include "cost/lsq.h"

#include <math.h>
#include <string.h>

// unknowns: a factor for each kind of unit, one for the head, bytes of a rank
enum { FIT_HEAD = N_KINDS, FIT_RANK, N_FIT_UNKNOWNS };

/* How far the model is trusted: a unit's activations to a fifth, the ranks'
 * common bytes to a 50th of the memory; a measured peak to a 200th. */
static const double PRIOR_FACTOR = 0.2, PRIOR_RANK = 0.02, NOISE = 0.005;
static const double STEP = 0.01; // of a derivative

struct problem {
    const struct model *m;
    const struct fit_run *runs;
    enum platform platform;
    const struct memory_rules *rules;
    struct memory_fit_row *rows;
    int n_rows;
    double scale_bytes; // mean measured peak
    double *a, *b;      // the least-squares problem
};

static int64_t memory_fit_predict(const struct problem *p,
                                  const struct memory_rules *r,
                                  const struct memory_fit_row *row)
{
    struct memory_terms terms;
    struct memory_rank rank;
    memory_terms(p->m, r, p->platform, &terms);
    memory_rank(&terms, &p->runs[row->run].layout, row->rank, &rank);
    return rank.peak_bytes;
}

/* ---- rows ---- */

/* Largest of the lines of the ranks that are this one of the pipeline: a
 * stage's ranks differ by replicas only. */
static void memory_fit_keep_line(struct problem *p, int run, int rank,
                                 int64_t bytes)
{
    for (int i = 0; i < p->n_rows; i++) {
        struct memory_fit_row *row = &p->rows[i];
        if (row->run != run || row->rank != rank)
            continue;
        row->meas_bytes = bytes > row->meas_bytes ? bytes : row->meas_bytes;
        return;
    }
    p->rows[p->n_rows++] =
        (struct memory_fit_row){.run = run, .rank = rank, .meas_bytes = bytes};
}

static enum err memory_fit_take_lines(struct problem *p, int run,
                                      struct err_msg *msg)
{
    const struct runlog *log = p->runs[run].log;
    int pp = p->runs[run].layout.pp;
    int ranks_a_stage = p->m->par.world / pp;
    for (size_t i = 0; i < log->n_memory; i++) {
        int rank = log->memory[i].rank / (ranks_a_stage ? ranks_a_stage : 1);
        if (rank < 0 || rank >= pp)
            return err_set(msg, ERR_PARSE,
                           "log of '%s': memory line of rank %d, want below "
                           "%d: check --world",
                           p->runs[run].layout_text, log->memory[i].rank,
                           pp * ranks_a_stage);
        if (log->memory[i].max_allocated_bytes > 0)
            memory_fit_keep_line(p, run, rank,
                                 log->memory[i].max_allocated_bytes);
    }
    return ERR_OK;
}

static enum err memory_fit_make_rows(struct arena *a, struct problem *p,
                                     int n_runs, struct err_msg *msg)
{
    size_t room = 0;
    for (int i = 0; i < n_runs; i++)
        room += p->runs[i].log->n_memory;
    p->rows = arena_alloc(a, room + 1, sizeof *p->rows);
    if (!p->rows)
        return err_set(msg, ERR_NOMEM, "memory fit: out of memory");
    for (int i = 0; i < n_runs; i++) {
        enum err e = memory_fit_take_lines(p, i, msg);
        if (e != ERR_OK)
            return e;
    }
    for (int i = 0; i < p->n_rows; i++) {
        p->rows[i].model_bytes = memory_fit_predict(p, p->rules, &p->rows[i]);
        p->scale_bytes += (double)p->rows[i].meas_bytes / p->n_rows;
    }
    return ERR_OK;
}

/* ---- the problem ---- */

static void memory_fit_move(const struct problem *p, struct memory_rules *r,
                            int unknown, double by)
{
    if (unknown < N_KINDS)
        r->unit_more[unknown] += by;
    else if (unknown == FIT_HEAD)
        r->head_more += by;
    else
        r->rank_more_bytes += by * p->scale_bytes;
}

/* Row i says: model + sum of derivative x (factor - 1) = measured. */
static void memory_fit_fill_row(const struct problem *p, int i)
{
    const struct memory_fit_row *row = &p->rows[i];
    double noise = NOISE * (double)row->meas_bytes, sum = 0;
    for (int u = 0; u < N_FIT_UNKNOWNS; u++) {
        struct memory_rules moved = *p->rules;
        memory_fit_move(p, &moved, u, STEP);
        double slope =
            (double)(memory_fit_predict(p, &moved, row) - row->model_bytes) /
            STEP;
        p->a[i * N_FIT_UNKNOWNS + u] = slope / noise;
        sum += slope;
    }
    p->b[i] = ((double)(row->meas_bytes - row->model_bytes) + sum) / noise;
}

static void fill_priors(const struct problem *p)
{
    for (int u = 0; u < N_FIT_UNKNOWNS; u++) {
        double width = u == FIT_RANK ? PRIOR_RANK : PRIOR_FACTOR;
        double *row = p->a + (p->n_rows + u) * N_FIT_UNKNOWNS;
        // the prior as a row of its own: (factor - 1) / width = 0
        row[u] = 1 / width;
        p->b[p->n_rows + u] = 1 / width;
    }
}

static enum err memory_fit_solve(struct arena *a, struct problem *p,
                                 struct memory_rules *out, struct err_msg *msg)
{
    size_t n = (size_t)(p->n_rows + N_FIT_UNKNOWNS);
    struct lsq_solution s;
    p->a = arena_alloc(a, n * N_FIT_UNKNOWNS, sizeof *p->a);
    p->b = arena_alloc(a, n, sizeof *p->b);
    if (!p->a || !p->b)
        return err_set(msg, ERR_NOMEM, "memory fit: out of memory");
    for (int i = 0; i < p->n_rows; i++)
        memory_fit_fill_row(p, i);
    fill_priors(p);
    struct lsq_problem lsq = {(int)n, N_FIT_UNKNOWNS, p->a, p->b};
    enum err e = lsq_nnls(a, &lsq, &s, msg);
    if (e != ERR_OK)
        return e;
    *out = *p->rules;
    for (int u = 0; u < N_FIT_UNKNOWNS; u++)
        memory_fit_move(p, out, u, s.x[u] - 1);
    return ERR_OK;
}

/* ---- what came of it ---- */

static double mean_square(const struct problem *p, bool fitted)
{
    double sum = 0;
    for (int i = 0; i < p->n_rows; i++) {
        const struct memory_fit_row *row = &p->rows[i];
        int64_t pred = fitted ? row->pred_bytes : row->model_bytes;
        double e = (double)pred / (double)row->meas_bytes - 1;
        sum += e * e / p->n_rows;
    }
    return sum;
}

/* The peak's moment may jump where the problem is linear: what is not better
 * is not kept. */
static void keep_better(struct problem *p, const struct memory_rules *fitted,
                        struct memory_rules *rules)
{
    for (int i = 0; i < p->n_rows; i++)
        p->rows[i].pred_bytes = memory_fit_predict(p, fitted, &p->rows[i]);
    if (mean_square(p, true) <= mean_square(p, false)) {
        *rules = *fitted;
        return;
    }
    for (int i = 0; i < p->n_rows; i++)
        p->rows[i].pred_bytes = p->rows[i].model_bytes;
}

enum err memory_fit(struct arena *a, const struct memory_fit_input *in,
                    struct memory_rules *rules, struct memory_fit *out,
                    struct err_msg *msg)
{
    const struct memory_rules prior = *rules;
    struct problem p = {.m = in->model,
                        .runs = in->runs,
                        .platform = in->platform,
                        .rules = &prior};
    struct memory_rules fitted = prior;
    enum err e = memory_fit_make_rows(a, &p, in->n_runs, msg);
    if (e == ERR_OK && p.n_rows && prior.trainer == TRAINER_MEGATRON)
        e = memory_fit_solve(a, &p, &fitted, msg);
    if (e != ERR_OK)
        return e;
    if (p.n_rows)
        keep_better(&p, &fitted, rules);
    *out = (struct memory_fit){
        .rows = p.rows,
        .n_rows = p.n_rows,
        .model_error = p.n_rows ? sqrt(mean_square(&p, false)) : 0,
        .fit_error = p.n_rows ? sqrt(mean_square(&p, true)) : 0};
    return ERR_OK;
}
