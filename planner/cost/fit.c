/*
 * How it works: one row a rank and pass, divided by the measured time, so that
 * the fit minimises relative errors; timers add up all chunks of a rank, and so
 * does its row. Unknowns are the forward cost of
 * each kind, then the backward cost of each, then one constant that timers add
 * to each chunk and pass (moe-train's add none). Rank and null space are looked
 * at first: the constant is dropped where the runs do not determine it,
 * m and L become one unit where no run has them apart, and anything else that
 * is not determined is an error that names a layout to add.
 */
#include "fit.h"

#include "log/runlog.h"
#include "lsq.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One rank and pass of one run: an equation of the fit. */
struct row {
    int run, stage; // stage: the rank in the pipeline
    int n_chunks;   // whose forwards or backwards the timer adds up
    bool forward;
    double meas_s, spread_s;
    int counts[N_KINDS];
};

struct design {
    struct arena *arena;
    const struct model *model;
    struct row *rows;
    int n_rows, n_runs;
    enum unit_kind kinds[N_KINDS]; // unknown kinds; L stands for mL when joint
    int n_kinds;
    bool joint_ml, chunk;
    bool timers_sync; // Megatron's do, moe-train's do not
    double *a, *b;
};

static int n_columns(const struct design *d)
{
    return 2 * d->n_kinds + d->chunk;
}

/* What the user has to add to the run's command. */
static enum err no_timers(const struct fit_run *run, const char *timer,
                          struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE,
                   "log of '%s': no per-rank '%s' timers: run with "
                   "--timing-log-level 2 --timing-log-option all (and "
                   "--logging-level 20 or lower)",
                   run->layout_text, timer);
}

/* Mean of a timer of one rank from blocks of extremes. */
static double lone_rank_ms(const struct runlog *log, const char *timer)
{
    double sum = 0;
    int n = 0;
    const struct log_timer *t;
    for (size_t at = 0; (t = runlog_next_timer(log, timer, &at)) != NULL;)
        if (!t->per_rank) {
            sum += t->max_ms;
            n++;
        }
    return n ? sum / n : (double)NAN;
}

/* With --use-tp-pp-dp-mapping replicas are outermost, not stages. */
static bool stages_inside(const struct fit_run *run)
{
    const char *text = runlog_argument(run->log, "use_tp_pp_dp_mapping");
    return text && strcmp(text, "True") == 0;
}

struct stage_stats { // pp entries each, seconds a step
    double *mean_s, *spread_s;
};

/* Mean of the timer for each rank; a world of one has it also as extremes. */
static enum err rank_times(const struct fit_timer *t, double *ms,
                           struct err_msg *msg)
{
    const int world = t->model->par.world;
    if (runlog_timer_mean(t->run->log, t->name, ms, ms + world, world) > 0)
        return ERR_OK;
    if (world == 1)
        ms[0] = lone_rank_ms(t->run->log, t->name);
    return world == 1 && isfinite(ms[0]) ? ERR_OK
                                         : no_timers(t->run, t->name, msg);
}

/* Mean and spread over the ranks of stage `s`; ranks of a stage come in blocks,
 * one block of each stage in turn. */
static void one_stage(const struct fit_timer *t, const double *ms, int s,
                      struct stage_stats *out)
{
    const struct parallel *par = &t->model->par;
    const int pp = t->run->layout.pp;
    const int block =
        stages_inside(t->run) ? par->tp * par->cp : par->world / pp;
    double sum = 0, least = INFINITY, most = -INFINITY;
    int n = 0;
    for (int first = s * block; first < par->world; first += block * pp)
        for (int r = first; r < first + block && r < par->world; r++)
            if (isfinite(ms[r])) {
                sum += ms[r];
                least = fmin(least, ms[r]);
                most = fmax(most, ms[r]);
                n++;
            }
    double scale = 1e-3 / t->run->speed;
    out->mean_s[s] = n ? sum / n * scale : (double)NAN;
    out->spread_s[s] = n ? (most - least) * scale : (double)NAN;
}

static enum err stage_stats(struct arena *a, const struct fit_timer *t,
                            struct stage_stats *out, struct err_msg *msg)
{
    double *ms = arena_alloc(a, 2 * (size_t)t->model->par.world, sizeof *ms);
    if (!ms)
        return err_set(msg, ERR_NOMEM, "fit: out of memory");
    enum err e = rank_times(t, ms, msg);
    for (int s = 0; s < t->run->layout.pp && e == ERR_OK; s++)
        one_stage(t, ms, s, out);
    return e;
}

enum err fit_stage_times(struct arena *a, const struct fit_timer *timer,
                         double *stage_s, struct err_msg *msg)
{
    size_t pp = (size_t)timer->run->layout.pp;
    double *spread = arena_alloc(a, pp, sizeof *spread);
    if (!spread)
        return err_set(msg, ERR_NOMEM, "fit: out of memory");
    struct stage_stats out = {stage_s, spread};
    return stage_stats(a, timer, &out, msg);
}

/* Units of all chunks of a rank: stage v*pp + rank is its chunk v. */
static void rank_kinds(const struct layout *l, const struct model *m, int rank,
                       int counts[N_KINDS])
{
    memset(counts, 0, N_KINDS * sizeof *counts);
    for (int s = rank; s < l->n_stages; s += l->pp) {
        int chunk[N_KINDS];
        layout_stage_kinds(l, m, s, chunk);
        for (int k = 0; k < N_KINDS; k++)
            counts[k] += chunk[k];
    }
}

/* Timers are sums over a step's micro-batches; a rank that the timer does not
 * list, an empty one, gives no row. */
static enum err cost_fit_add_run(struct arena *a, const struct model *m,
                                 const struct fit_run *run, struct design *d,
                                 struct err_msg *msg)
{
    const int pp = run->layout.pp;
    const double n_mb = (double)m->batch.n_microbatches;
    double *s = arena_alloc(a, 2 * (size_t)pp, sizeof *s);
    if (!s)
        return err_set(msg, ERR_NOMEM, "fit: out of memory");
    struct stage_stats stats = {s, s + pp};
    for (int pass = 0; pass < 2; pass++) {
        const struct fit_timer timer = {
            m, run, pass ? RUNLOG_BACKWARD : RUNLOG_FORWARD};
        enum err e = stage_stats(a, &timer, &stats, msg);
        if (e != ERR_OK)
            return e;
        for (int stage = 0; stage < pp; stage++) {
            if (!isfinite(s[stage]) || s[stage] <= 0)
                continue;
            struct row *row = &d->rows[d->n_rows++];
            *row = (struct row){.run = d->n_runs,
                                .stage = stage,
                                .n_chunks = run->layout.vpp,
                                .forward = pass == 0,
                                .meas_s = s[stage] / n_mb,
                                .spread_s = stats.spread_s[stage] / n_mb};
            rank_kinds(&run->layout, m, stage, row->counts);
        }
    }
    d->n_runs++;
    return ERR_OK;
}

/* Count of an unknown kind in a row. */
static int row_count(const struct design *d, const struct row *row, int k)
{
    return row->counts[d->kinds[k]];
}

/* Rows are divided by what was measured: errors of timers are relative. */
static void cost_fit_fill(struct design *d)
{
    const int n = n_columns(d);
    memset(d->a, 0, (size_t)d->n_rows * (size_t)n * sizeof *d->a);
    for (int i = 0; i < d->n_rows; i++) {
        const struct row *row = &d->rows[i];
        double *out = d->a + i * n;
        for (int k = 0; k < d->n_kinds; k++)
            out[(row->forward ? 0 : d->n_kinds) + k] =
                row_count(d, row, k) / row->meas_s;
        if (d->chunk)
            out[n - 1] = row->n_chunks / row->meas_s;
        d->b[i] = 1;
    }
}

/* Filled anew each time, since choose_unknowns() changes the columns. */
static struct lsq_problem cost_fit_problem(struct design *d)
{
    cost_fit_fill(d);
    return (struct lsq_problem){d->n_rows, n_columns(d), d->a, d->b};
}

static enum err cost_fit_build(struct design *d, const struct fit_run *runs,
                               int n_runs, struct err_msg *msg)
{
    struct arena *a = d->arena;
    const struct model *m = d->model;
    size_t n = 0;
    for (int i = 0; i < n_runs; i++)
        n += 2 * (size_t)runs[i].layout.pp;
    d->rows = arena_alloc(a, n, sizeof *d->rows);
    d->a = arena_alloc(a, n * LSQ_MAX_COLS, sizeof *d->a);
    d->b = arena_alloc(a, n, sizeof *d->b);
    if (!d->rows || !d->a || !d->b)
        return err_set(msg, ERR_NOMEM, "fit: out of memory");
    for (int i = 0; i < n_runs; i++) {
        enum err e = cost_fit_add_run(a, m, &runs[i], d, msg);
        if (e != ERR_OK)
            return e;
        d->timers_sync = d->timers_sync || !runs[i].log->clock;
    }
    for (int k = 0; k < N_KINDS; k++)
        if (model_unit_count(m, (enum unit_kind)k) > 0)
            d->kinds[d->n_kinds++] = (enum unit_kind)k;
    return ERR_OK;
}

/* ---- what the runs can tell ---- */

/* Where every run has m beside L only their sum shows: L stands for both. */
static void make_joint(struct design *d)
{
    int n = 0;
    for (int k = 0; k < d->n_kinds; k++)
        if (d->kinds[k] != KIND_M)
            d->kinds[n++] = d->kinds[k];
    d->n_kinds = n;
    d->joint_ml = true;
}

static bool has_kind(const struct design *d, enum unit_kind kind)
{
    for (int k = 0; k < d->n_kinds; k++)
        if (d->kinds[k] == kind)
            return true;
    return false;
}

/* True when every kind of the design is determined both ways. */
static bool kinds_determined(const struct design *d, const struct lsq_rank *r)
{
    for (int j = 0; j < 2 * d->n_kinds; j++)
        if (!r->determined[j])
            return false;
    return true;
}

/* Would the design be complete with one more run of this layout? Times do not
 * matter for that, so the rows get time 1. */
static bool cost_fit_completes(struct arena *a, const struct model *m,
                               const struct design *d, const struct layout *l)
{
    struct design more = {.n_kinds = d->n_kinds, .joint_ml = d->joint_ml};
    memcpy(more.kinds, d->kinds, sizeof more.kinds);
    size_t n = (size_t)d->n_rows + 2 * (size_t)l->pp;
    more.rows = arena_alloc(a, n, sizeof *more.rows);
    more.a = arena_alloc(a, n * LSQ_MAX_COLS, sizeof *more.a);
    more.b = arena_alloc(a, n, sizeof *more.b);
    if (!more.rows || !more.a || !more.b)
        return false;
    memcpy(more.rows, d->rows, (size_t)d->n_rows * sizeof *d->rows);
    more.n_rows = d->n_rows;
    for (int s = 0; s < 2 * l->pp; s++) {
        struct row *row = &more.rows[more.n_rows++];
        *row = (struct row){.stage = s / 2,
                            .n_chunks = l->vpp,
                            .forward = s % 2 == 0,
                            .meas_s = 1};
        rank_kinds(l, m, s / 2, row->counts);
    }
    struct lsq_problem p = cost_fit_problem(&more);
    struct lsq_rank r;
    return lsq_rank(a, &p, &r, NULL) == ERR_OK && kinds_determined(&more, &r);
}

/* A layout of as many stages as the first run's that would complete the
 * design: the units are dealt out with `first` layers beside E and `last`
 * beside L. */
static const char *layout_to_add(struct arena *a, const struct design *d,
                                 const struct layout *like)
{
    const struct model *m = d->model;
    const int pp = like->pp, n = like->n_stages;
    for (int first = 0; first < 4 && pp > 1; first++)
        for (int last = 0; last < 4; last++) {
            int middle = m->n_layers - first - last;
            if (middle < (n > 2 ? 1 : 0))
                continue;
            char *text = arena_printf(a, "Et*%d|", first);
            for (int s = 1; s < n - 1 && text; s++)
                text = arena_printf(a, "%st*%d|", text,
                                    middle / (n - 2) + (s <= middle % (n - 2)));
            int rest = n > 2 ? last : last + middle;
            text = text ? arena_printf(a, "%st*%dm*%dL", text, rest, m->n_mtp)
                        : NULL;
            struct layout l;
            if (text &&
                layout_read_question(
                    a,
                    &(struct layout_question){text, pp, m->n_layers, m->n_mtp},
                    &l, NULL) == ERR_OK &&
                cost_fit_completes(a, m, d, &l))
                return layout_text(a, &l, m);
        }
    return NULL;
}

/* Names the kinds that are left, and a layout that would tell them apart. */
static enum err cost_fit_undetermined(const struct design *d,
                                      const struct lsq_rank *r,
                                      const struct layout *like,
                                      struct err_msg *msg)
{
    char names[64] = "";
    for (int k = 0; k < d->n_kinds; k++)
        if (!r->determined[k] || !r->determined[d->n_kinds + k]) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s",
                     used ? ", " : "", kind_name(d->kinds[k]));
        }
    const char *add = layout_to_add(d->arena, d, like);
    return err_set(msg, ERR_MODEL,
                   "fit: these runs do not tell %s apart: add a run of a "
                   "layout with other counts of them%s%s%s",
                   names, add ? ", such as '" : "", add ? add : "",
                   add ? "'" : "");
}

/* Decides the unknowns; leaves the rank report of the final design in *r. */
static enum err choose_unknowns(struct design *d, const struct layout *like,
                                struct lsq_rank *r, struct err_msg *msg)
{
    struct arena *a = d->arena;
    for (int attempt = 0; attempt < 2; attempt++) {
        d->chunk = d->timers_sync;
        struct lsq_problem p = cost_fit_problem(d);
        enum err e = lsq_rank(a, &p, r, msg);
        if (e != ERR_OK)
            return e;
        if (r->rank == n_columns(d))
            return ERR_OK;
        d->chunk = false;
        p = cost_fit_problem(d);
        e = lsq_rank(a, &p, r, msg);
        if (e != ERR_OK)
            return e;
        if (kinds_determined(d, r))
            return ERR_OK;
        if (d->joint_ml || !has_kind(d, KIND_M))
            break;
        make_joint(d);
    }
    return cost_fit_undetermined(d, r, like, msg);
}

/* ---- the fit ---- */

/* Standard errors grow by t(95%)/1.96, so that 1.96 of them are a 95% interval
 * with the few degrees of freedom that two runs leave. */
static void read_costs(const struct design *d, const struct lsq_solution *s,
                       struct cost *c)
{
    double scale =
        s->degrees_of_freedom > 0 ? lsq_t95(s->degrees_of_freedom) / 1.96 : 1;
    for (int k = 0; k < d->n_kinds; k++) {
        int b = d->n_kinds + k;
        c->unit[d->kinds[k]] = (struct unit_cost){.known = true,
                                                  .fwd_s = s->x[k],
                                                  .fwd_se = s->se[k] * scale,
                                                  .bwd_s = s->x[b],
                                                  .bwd_se = s->se[b] * scale};
    }
    c->joint_ml = d->joint_ml;
    c->chunk_s = d->chunk ? s->x[2 * d->n_kinds] : 0;
}

/* Relative, as the fit weighs its rows. */
static double cost_fit_misfit(double pred, double meas)
{
    return meas > 0 ? fabs(pred / meas - 1) : 0;
}

/* One residual a run and stage, of the forward and the backward row. */
static enum err cost_fit_residuals(struct arena *a, const struct design *d,
                                   const struct lsq_solution *s,
                                   struct fit *out, struct err_msg *msg)
{
    struct fit_residual *all = arena_alloc(a, (size_t)d->n_rows, sizeof *all);
    if (!all)
        return err_set(msg, ERR_NOMEM, "fit: out of memory");
    int n = 0;
    for (int i = 0; i < d->n_rows; i++) {
        const struct row *row = &d->rows[i];
        double pred = d->chunk ? row->n_chunks * s->x[2 * d->n_kinds] : 0;
        for (int k = 0; k < d->n_kinds; k++)
            pred += row_count(d, row, k) *
                    s->x[(row->forward ? 0 : d->n_kinds) + k];
        int j = 0;
        while (j < n && (all[j].run != row->run || all[j].stage != row->stage))
            j++;
        n += j == n;
        all[j].run = row->run;
        all[j].stage = row->stage;
        *(row->forward ? &all[j].meas_fwd_s : &all[j].meas_bwd_s) = row->meas_s;
        *(row->forward ? &all[j].pred_fwd_s : &all[j].pred_bwd_s) = pred;
        *(row->forward ? &all[j].spread_fwd_s : &all[j].spread_bwd_s) =
            row->spread_s;
    }
    for (int j = 0; j < n; j++) {
        double fwd = cost_fit_misfit(all[j].pred_fwd_s, all[j].meas_fwd_s);
        double bwd = cost_fit_misfit(all[j].pred_bwd_s, all[j].meas_bwd_s);
        out->worst_misfit = fmax(out->worst_misfit, fmax(fwd, bwd));
    }
    out->residuals = all;
    out->n_residuals = n;
    return ERR_OK;
}

/* Where the costs come from: trainer and clock, link, model and layouts. */
static enum err set_origin(struct arena *a, const struct fit_input *in,
                           struct cost *c)
{
    const struct fit_run *runs = in->runs;
    const int n_runs = in->n_runs;
    struct model_fact *facts = arena_alloc(a, MODEL_N_FACTS, sizeof *facts);
    const char **layouts = arena_alloc(a, (size_t)n_runs, sizeof *layouts);
    const char **hashes = arena_alloc(a, (size_t)n_runs, sizeof *hashes);
    if (!facts || !layouts || !hashes)
        return ERR_NOMEM;
    c->source = COST_MEASURED;
    c->rules = MEMORY_MEGATRON;
    for (int i = 0; i < n_runs; i++) {
        layouts[i] = runs[i].layout_text;
        hashes[i] = runs[i].log_sha256 ? runs[i].log_sha256 : "";
        const char *clock = runs[i].log->clock;
        if (clock)
            c->rules = MEMORY_MOE_TRAIN;
        if (clock && strcmp(clock, "wall") != 0)
            c->source = COST_EMULATED;
        if (isfinite(runs[i].log->p2p_latency_s)) {
            c->latency_s = runs[i].log->p2p_latency_s;
            c->bytes_per_s = runs[i].log->p2p_bytes_per_s;
        }
    }
    c->n_facts = model_facts(in->model, facts);
    c->facts = facts;
    c->fitted_layout = layouts;
    c->fitted_sha256 = hashes;
    c->n_fitted = n_runs;
    return ERR_OK;
}

/* What the costs cannot tell, in the user's words: it limits which layouts can
 * be planned, or moves a constant into the units. */
static const char *cost_fit_note(struct arena *a, const struct design *d)
{
    const char *joint =
        d->joint_ml ? "no run has m and L on different stages: they are one "
                      "unit mL, and only layouts that keep them together can "
                      "be planned"
                    : "";
    const char *chunk =
        d->chunk         ? ""
        : d->timers_sync ? "the timers' constant per chunk cannot be told "
                           "apart: it is absorbed in the unit costs"
                         : "moe-train's timers do not synchronise: no constant "
                           "per chunk";
    if (!*joint && !*chunk)
        return NULL;
    return arena_printf(a, "%s%s%s", joint, *joint && *chunk ? "; " : "",
                        chunk);
}

enum err fit_costs(struct arena *a, const struct fit_input *in, struct fit *out,
                   struct err_msg *msg)
{
    struct design d = {.arena = a, .model = in->model};
    struct lsq_rank rank;
    struct lsq_solution solution;
    enum err e = cost_fit_build(&d, in->runs, in->n_runs, msg);
    if (e == ERR_OK)
        e = choose_unknowns(&d, &in->runs[0].layout, &rank, msg);
    if (e != ERR_OK)
        return e;
    struct lsq_problem p = cost_fit_problem(&d);
    e = lsq_nnls(a, &p, &solution, msg);
    if (e != ERR_OK)
        return e;
    struct fit f = {.rank = rank.rank,
                    .condition = rank.condition,
                    .n_unknowns = n_columns(&d),
                    .degrees_of_freedom = solution.degrees_of_freedom,
                    .note = cost_fit_note(a, &d)};
    read_costs(&d, &solution, &f.cost);
    e = cost_fit_residuals(a, &d, &solution, &f, msg);
    if (e == ERR_OK)
        e = set_origin(a, in, &f.cost);
    if (e == ERR_OK)
        *out = f;
    return e;
}

enum err fit_join_notes(struct arena *a, const char *more, const char **note,
                        struct err_msg *msg)
{
    if (more)
        *note = *note ? arena_printf(a, "%s; %s", *note, more) : more;
    return *note || !more ? ERR_OK
                          : err_set(msg, ERR_NOMEM, "fit: out of memory");
}
