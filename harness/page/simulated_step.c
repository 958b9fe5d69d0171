/*
 * How it works: the context is made as validate makes it, once a folder; each
 * layout is then simulated with its events in an arena of its own.
 */
#include "simulated_step.h"

#include "experiment/context.h"
#include "fields.h"
#include "manifest/manifest.h"
#include "manifest/settings.h"
#include "manifest/workload.h"
#include "plan/plan.h"
#include "plan/settings.h"
#include "steps.h"

#include <math.h>

/* What the layouts of one folder are simulated with. */
struct simulated_step {
    struct manifest manifest;
    struct workload workload;
    struct schedule schedule;
    struct cost cost;
    struct plan_context ctx;
};

/* Any error means that there is nothing to simulate with. */
static enum err simulated_step_open(struct arena *a, const char *dir,
                                    struct simulated_step *x,
                                    struct err_msg *msg)
{
    const char *manifest = arena_printf(a, "%s/manifest.json", dir);
    const char *costs = arena_printf(a, "%s/costs.json", dir);
    struct plan_settings set;
    const char *note = NULL;
    if (!manifest || !costs)
        return err_set(msg, ERR_NOMEM, "page: out of memory");
    enum err e = manifest_read(a, manifest, &x->manifest, msg);
    if (e == ERR_OK)
        e = workload_read(a, &x->manifest, &x->workload, msg);
    if (e == ERR_OK)
        e = manifest_settings(a, &x->manifest, &set, &note, msg);
    if (e == ERR_OK)
        e = cost_read_file(a, costs, &x->cost, msg);
    if (e == ERR_OK)
        e = cost_check_model(&x->cost, &x->workload.model, costs, msg);
    if (e != ERR_OK)
        return e;
    x->ctx = (struct plan_context){.model = &x->workload.model};
    plan_settings_apply(&set, x->ctx.model, &x->ctx);
    e = context_make(&x->manifest, &x->workload, &x->schedule, &x->ctx, msg);
    plan_context_costs(&x->ctx, &x->cost);
    return e;
}

/* Times by operation from the simulator's events; false for combined ones. */
static bool simulated_step_times(const struct sim_result *r, int pp, int n_mb,
                                 double *const times[4])
{
    for (int i = 0; i < r->n_events; i++) {
        const struct sim_event *x = &r->events[i];
        const bool backward = x->kind == OP_BACKWARD;
        if (x->kind == OP_COMBINED)
            return false;
        if (x->kind != OP_FORWARD && !backward)
            continue;
        const int at = (x->chunk * pp + x->rank) * n_mb + x->mb;
        times[backward ? 2 : 0][at] = x->start_s;
        times[backward ? 3 : 1][at] = x->end_s - x->start_s;
    }
    return true;
}

/* One layout; ERR_OK with *out -1 where it cannot be simulated. */
static enum err simulated_step_layout(struct sheet *s, struct arena *a,
                                      const struct simulated_step *x,
                                      const char *layout, int *out)
{
    struct layout l;
    struct sim_result r;
    double *times[4];
    const struct model *m = &x->workload.model;
    if (layout_read(a, layout, m, &l, NULL) != ERR_OK ||
        2.0 * l.n_stages * x->ctx.n_mb > STEPS_MOST_OPERATIONS ||
        plan_simulate(a, &x->ctx, &l, &r, NULL) != ERR_OK)
        return ERR_OK;
    const size_t n = (size_t)l.n_stages * (size_t)x->ctx.n_mb;
    for (int k = 0; k < 4; k++) {
        times[k] = arena_alloc(a, n, sizeof *times[k]);
        for (size_t i = 0; i < n && times[k]; i++)
            times[k][i] = NAN;
        if (!times[k])
            return ERR_NOMEM;
    }
    const struct steps_step step = {.pp = m->par.pp,
                                    .n_stages = l.n_stages,
                                    .n_mb = x->ctx.n_mb,
                                    .iteration = NAN,
                                    .fwd_start_s = times[0],
                                    .fwd_s = times[1],
                                    .bwd_start_s = times[2],
                                    .bwd_s = times[3]};
    if (simulated_step_times(&r, m->par.pp, x->ctx.n_mb, times))
        *out = steps_add(s, &step);
    return ERR_OK;
}

/* A folder that cannot be simulated has rows all the same, so that only memory
 * is an error. */
enum err simulated_step_add(struct sheet *s, const char *dir,
                            const struct csv *layouts, int *timeline,
                            struct err_msg *msg)
{
    struct arena all, scratch;
    struct err_msg why;
    arena_init(&all);
    struct simulated_step *x = arena_alloc(&all, 1, sizeof *x);
    enum err e = x ? ERR_OK : ERR_NOMEM;
    const bool open = x && simulated_step_open(&all, dir, x, &why) == ERR_OK;
    for (size_t i = 0; i < layouts->n_rows && e == ERR_OK; i++) {
        timeline[i] = -1;
        arena_init(&scratch); // of a simulator, for each
        if (open)
            e = simulated_step_layout(
                s, &scratch, x, csv_text(layouts, i, "layout"), &timeline[i]);
        arena_clear(&scratch);
    }
    arena_clear(&all);
    return e == ERR_OK ? e : err_set(msg, e, "page: out of memory");
}
