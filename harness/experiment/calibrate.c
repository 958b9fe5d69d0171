#include "calibrate.h"

#include "calibrate/overhead.h"
#include "calibrate/transfers.h"
#include "context.h"
#include "cost/fit.h"
#include "figures/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* results/<other>: beside our results, else among the reference data. */
const char *calibrate_other_costs(struct arena *a,
                                  const struct calibrate_input *in)
{
    const char *name = in->manifest->costs_from;
    const char *tries[] = {
        arena_printf(a, "%s/../%s/costs.json", in->dir, name),
        arena_printf(a, "%s/results/%s/costs.json", in->manifest->dir, name),
        arena_printf(a, "results/%s/costs.json", name),
        arena_printf(a, "results/reference/%s/costs.json", name)};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++)
        if (tries[i] && access(tries[i], R_OK) == 0)
            return tries[i];
    return NULL;
}

/* Costs of another experiment must be of this model: a file that lies there
 * from earlier may not be. */
static enum err read_other_costs(struct arena *a,
                                 const struct calibrate_input *in,
                                 struct cost *c, struct err_msg *msg)
{
    const char *path = calibrate_other_costs(a, in);
    if (!path)
        return err_set(msg, ERR_PARSE,
                       "%s: costs_from: no costs.json of experiment '%s', run "
                       "that one first",
                       in->manifest->path, in->manifest->costs_from);
    enum err err = cost_read_file(a, path, c, msg);
    if (err == ERR_OK)
        err = cost_check_model(c, in->ctx->model, path, msg);
    return err;
}

/* Mean step of the iterations that the fit's means are over. */
static double mean_step_ms(const struct runlog *log)
{
    const struct log_iteration *it;
    double sum = 0;
    int n = 0;
    for (size_t at = 0; (it = runlog_next_used(log, &at)) != NULL; n++)
        sum += it->step_ms;
    return sum / n;
}

/* The profile runs as the fit wants them. */
struct fit_runs {
    struct fit_run *run;
    int n;
    double reference_ms;
};

/* The fit takes means of timers; they are scaled by what makes the run's mean
 * step its corrected median step, the figure that measured runs are reported
 * by: so neither the machine's speed nor a few slow steps tell profile and
 * measured runs apart. */
static enum err calibrate_add_run(struct arena *a,
                                  const struct calibrate_input *in,
                                  const struct run_record *run,
                                  struct fit_runs *to, struct err_msg *msg)
{
    const struct model *m = in->ctx->model;
    struct fit_run *out = &to->run[to->n++];
    struct run_figures f;
    const struct figures_rule rule = {in->manifest->warmup, to->reference_ms};
    enum err err = figures_run(a, run, rule, &f, msg);
    if (err != ERR_OK)
        return err;
    // without a step that can be corrected the timers are taken as they are
    double speed = mean_step_ms(&run->log) / f.corr_ms;
    *out = (struct fit_run){.layout_text = run->layout,
                            .log = &run->log,
                            .log_sha256 = run->log_sha256,
                            .speed = isfinite(speed) ? speed : 1};
    return layout_read(a, run->layout, m, &out->layout, msg);
}

/* By layout, then by log: the order in which runs were made, or made again, is
 * no fact about costs, and sums in another order differ in their last digits,
 * by which layouts that tie would change places. */
static int calibrate_by_layout(const void *x, const void *y)
{
    const struct fit_run *a = x, *b = y;
    int order = strcmp(a->layout_text, b->layout_text);
    return order ? order : strcmp(a->log_sha256, b->log_sha256);
}

/* Profile runs are those of round 0. All come from one machine and launcher, so
 * the last one's source is that of all. */
static enum err add_runs(struct arena *a, const struct calibrate_input *in,
                         struct fit_runs *to, enum cost_source *source,
                         struct err_msg *msg)
{
    to->run = arena_alloc(a, in->runs->n + 1, sizeof *to->run);
    if (!to->run)
        return err_set(msg, ERR_NOMEM, "costs: out of memory");
    for (size_t i = 0; i < in->runs->n; i++) {
        const struct run_record *r = &in->runs->run[i];
        if (r->round != 0 || r->status != RUN_VALID)
            continue;
        *source =
            strcmp(r->source, "measured") == 0 ? COST_MEASURED : COST_EMULATED;
        enum err err = calibrate_add_run(a, in, r, to, msg);
        if (err != ERR_OK)
            return err;
    }
    if (to->n > 1)
        qsort(to->run, (size_t)to->n, sizeof *to->run, calibrate_by_layout);
    return to->n > 0 ? ERR_OK
                     : err_set(msg, ERR_MODEL,
                               "no valid profile run to fit costs from");
}

/* Jitter first: what lies outside the pipeline is the rest of an expected
 * step, once transfers are known. Where no operations were recorded timers
 * tell the jitter. */
static enum err add_step_costs(struct arena *a,
                               const struct calibrate_input *in,
                               const struct fit_runs *runs,
                               struct calibration *out, struct err_msg *msg)
{
    struct cost *c = &out->cost;
    struct transfers t = {c, NULL};
    struct plan_context ctx = *in->ctx;
    double cv = NAN;
    const struct figures_source from = {in->runs, in->ctx->model,
                                        in->manifest->warmup};
    enum err err = figures_jitter(a, &from, &cv, msg);
    if (err != ERR_OK)
        return err;
    if (cv > 0)
        c->jitter_cv = cv;
    ctx.cost = c;
    const struct overhead_runs all = {runs->run, runs->n};
    overhead_jitter(a, &ctx, &all, c);
    err = transfers_fit(a, &ctx, &all, &t, msg);
    if (err == ERR_OK)
        err = fit_join_notes(a, t.note, &out->note, msg);
    return err == ERR_OK ? overhead_fit(a, &ctx, &all, c, msg) : err;
}

/* The context of the experiment is for measured runs; the fit's is the same
 * with one chunk a rank and no EP overlap, as profile runs are made. */
enum err calibrate(struct arena *a, const struct calibrate_input *from,
                   double reference_ms, struct calibration *out,
                   struct err_msg *msg)
{
    struct fit fit;
    struct fit_runs runs = {NULL, 0, reference_ms};
    struct model m;
    struct schedule schedule;
    struct plan_context ctx;
    struct calibrate_input of_profile = *from, *in = &of_profile;
    enum cost_source source = COST_EMULATED;
    *out = (struct calibration){.note = NULL};
    if (in->manifest->costs_from)
        return read_other_costs(a, in, &out->cost, msg);
    in->ctx = &ctx;
    enum err err = context_of_profile(from->ctx, &m, &schedule, &ctx, msg);
    if (err == ERR_OK)
        err = add_runs(a, in, &runs, &source, msg);
    if (err == ERR_OK)
        err =
            fit_costs(a, &(struct fit_input){in->ctx->model, runs.run, runs.n},
                      &fit, msg);
    if (err != ERR_OK)
        return err;
    out->cost = fit.cost;
    out->cost.source = source;
    out->note = fit.note;
    return add_step_costs(a, in, &runs, out, msg);
}
