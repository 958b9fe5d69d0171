#include "run_view.h"

#include "base/text.h"
#include "log/runlog.h"

#include <math.h>
#include <string.h>

/* Micro-batches a group: as the run's dump says, else the model, else PP. */
static int group_of(const struct model *m, const struct fit_run *run)
{
    const char *text =
        runlog_argument(run->log, "microbatch_group_size_per_vp_stage");
    int64_t n = 0;
    if (text && text_to_int64(text, &n) && n > 0 && n <= ORDER_MAX_MB)
        return (int)n;
    return m->memory.mb_group > 0 ? m->memory.mb_group : run->layout.pp;
}

/* Several chunks a rank without overlap: --no-overlap-p2p-communication. */
static bool is_blocking(const struct fit_run *run)
{
    const char *text = runlog_argument(run->log, "overlap_p2p_comm");
    return text && strcmp(text, "False") == 0;
}

/* Transfers as the run made them, unless the user said otherwise of all. */
enum err run_view_make(const struct plan_context *base,
                       const struct fit_run *run, bool ep_overlap,
                       struct run_view *out, struct err_msg *msg)
{
    const struct layout *l = &run->layout;
    const struct order order = {.pp = l->pp,
                                .vpp = l->vpp,
                                .n_mb = base->n_mb,
                                .group = group_of(base->model, run),
                                .ep_overlap = ep_overlap};
    enum p2p_mode mode = base->mode;
    if (mode == p2p_mode_default(base->schedule->vpp))
        mode = is_blocking(run) ? P2P_BLOCKING : p2p_mode_default(l->vpp);
    enum err e = schedule_outline(&order, mode, &out->schedule, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "log of '%s'", run->layout_text);
    out->run = run;
    out->ctx = *base;
    out->ctx.mode = mode;
    out->ctx.schedule = &out->schedule;
    return ERR_OK;
}

/* What a timer shows of one stage and micro-batch, by the costs. */
static double stage_weight(const struct plan_context *ctx,
                           const struct cost *cost, const struct layout *l,
                           int stage, bool forward)
{
    const struct cost_times t = cost_stage(cost, ctx->model, l, stage);
    return (forward ? t.fwd_s : t.bwd_s) + cost->chunk_s;
}

/* From a time a rank, in the first places, to one a stage. A rank whose
 * chunks cost nothing is shared out evenly. */
static void share_out(const struct plan_context *ctx, const struct cost *cost,
                      const struct layout *l, double *stage_s, bool forward)
{
    for (int r = 0; r < l->pp && l->vpp > 1; r++) {
        const double rank_s = stage_s[r];
        double sum = 0;
        for (int s = r; s < l->n_stages; s += l->pp) {
            stage_s[s] = stage_weight(ctx, cost, l, s, forward);
            sum += stage_s[s];
        }
        for (int s = r; s < l->n_stages; s += l->pp)
            stage_s[s] = rank_s * (sum > 0 ? stage_s[s] / sum : 1.0 / l->vpp);
    }
}

enum err run_view_times(struct arena *a, const struct run_view *view,
                        const struct cost *cost, double *stage_s,
                        struct err_msg *msg)
{
    const struct fit_run *run = view->run;
    const struct layout *l = &run->layout;
    const struct plan_context *ctx = &view->ctx;
    for (int pass = 0; pass < 2; pass++) {
        double *s = stage_s + pass * l->n_stages;
        const struct fit_timer timer = {
            ctx->model, run, pass ? RUNLOG_BACKWARD : RUNLOG_FORWARD};
        enum err e = fit_stage_times(a, &timer, s, msg);
        if (e != ERR_OK)
            return e;
        for (int r = 0; r < l->pp; r++)
            s[r] = isfinite(s[r]) ? s[r] / ctx->n_mb : 0;
        share_out(ctx, cost, l, s, pass == 0);
    }
    return ERR_OK;
}

/* Two passes, since squares of steps would cancel. */
enum err run_view_step(const struct fit_run *run, struct run_step *out,
                       struct err_msg *msg)
{
    const double scale = 1e-3 / run->speed;
    const struct log_iteration *it;
    double sum = 0, squares = 0;
    int n = 0;
    for (size_t at = 0; (it = runlog_next_used(run->log, &at)) != NULL; n++)
        sum += it->step_ms * scale;
    if (n == 0)
        return err_set(msg, ERR_PARSE,
                       "log of '%s': no usable iteration: run more than the "
                       "warm-up",
                       run->layout_text);
    out->mean_s = sum / n;
    for (size_t at = 0; (it = runlog_next_used(run->log, &at)) != NULL;) {
        const double d = it->step_ms * scale - out->mean_s;
        squares += d * d;
    }
    out->se_s = n > 1 ? sqrt(squares / (n - 1) / n) : 0;
    return ERR_OK;
}
