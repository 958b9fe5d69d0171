#include "ep_save.h"

#include "plan/jitter.h"
#include "run_view.h"

#include <math.h>

enum { EP_SAVE_MAX_ROUNDS = 60 };
static const double CLOSE =
    1e-9; // of a step time, relative: measured far worse

/* The step as a function of what a pair of MoE layers saves. */
struct step_of {
    struct plan_context ctx; // with EP overlap
    const struct layout *layout;
    struct err_msg *msg;
};

/* The step of the run as if `both_s` were hidden of every two layers with
 * experts; of one alone it is half. */
static enum err step_at(struct step_of *f, double both_s, double *step_s)
{
    struct jitter_step step;
    f->ctx.save = (struct overlap_save){both_s, both_s / 2, both_s / 2};
    struct arena scratch;
    arena_init(&scratch);
    enum err e = jitter_expect(&scratch, &f->ctx, f->layout, &step, f->msg);
    arena_clear(&scratch);
    if (e == ERR_OK)
        *step_s = step.mean_s;
    return e;
}

/* An end of the interval that holds the saving: its step less the wanted. */
struct bracket {
    double save_s, over_s;
};

/* Regula falsi with Illinois' halving of the end that stays. A step falls
 * piecewise linearly as savings grow, so a few rounds do. lo.over_s > 0 >
 * hi.over_s on entry. */
static enum err narrow(struct step_of *f, double want_s, struct bracket lo,
                       struct bracket hi, double *save_s)
{
    int stays = 0; // which end stayed last: -1 lo, 1 hi
    for (int i = 0; i < EP_SAVE_MAX_ROUNDS; i++) {
        const double part = lo.over_s / (lo.over_s - hi.over_s);
        struct bracket mid = {lo.save_s + part * (hi.save_s - lo.save_s), 0};
        double step = 0;
        enum err e = step_at(f, mid.save_s, &step);
        if (e != ERR_OK)
            return e;
        mid.over_s = step - want_s;
        *save_s = mid.save_s;
        if (fabs(mid.over_s) <= CLOSE * want_s)
            break;
        if (mid.over_s > 0) {
            lo = mid;
            hi.over_s /= stays == 1 ? 2 : 1;
            stays = 1;
        } else {
            hi = mid;
            lo.over_s /= stays == -1 ? 2 : 1;
            stays = -1;
        }
    }
    return ERR_OK;
}

/* What must be saved for a step of want_s, within [0, most_s]. */
static enum err solve(struct step_of *f, double want_s, double most_s,
                      double *save_s)
{
    double at_none = 0, at_most = 0;
    enum err e = step_at(f, 0, &at_none);
    if (e == ERR_OK)
        e = step_at(f, most_s, &at_most);
    if (e != ERR_OK)
        return e;
    *save_s = at_none <= want_s ? 0 : most_s;
    if (at_none <= want_s || at_most >= want_s)
        return ERR_OK;
    return narrow(f, want_s, (struct bracket){0, at_none - want_s},
                  (struct bracket){most_s, at_most - want_s}, save_s);
}

/* Hiding more than one of two layers whole is not possible: they share one
 * GPU. The heavier pass of a MoE layer bounds it. */
static double most_saved(const struct cost *c)
{
    return fmax(c->unit[KIND_T].fwd_s, c->unit[KIND_T].bwd_s);
}

/* Solved for the mean step and for it with its error either way: the wider side
 * is the error of what is saved. */
enum err ep_save_fit(const struct plan_context *ctx, const struct fit_run *run,
                     struct cost *cost, struct err_msg *msg)
{
    struct run_view view;
    struct run_step step = {0, 0};
    if (ctx->model->n_experts == 0)
        return err_set(msg, ERR_MODEL,
                       "log of '%s': EP overlap hides nothing of a model "
                       "without experts",
                       run->layout_text);
    enum err e = run_view_make(ctx, run, true, &view, msg);
    if (e == ERR_OK)
        e = run_view_step(run, &step, msg);
    struct step_of f = {.layout = &run->layout, .msg = msg};
    const double most = most_saved(cost);
    double save = 0, less = 0, more = 0;
    if (e != ERR_OK)
        return e;
    f.ctx = view.ctx;
    const double noise = hypot(step.se_s, cost->step_noise_rel * step.mean_s);
    e = solve(&f, step.mean_s, most, &save);
    if (e == ERR_OK && save >= most)
        return err_set(msg, ERR_MODEL,
                       "log of '%s': its step of %.3f ms is shorter than with "
                       "a whole layer of every two hidden: are the costs of "
                       "the same model, machine and batch?",
                       run->layout_text, step.mean_s * 1e3);
    if (e == ERR_OK)
        e = solve(&f, step.mean_s + noise, most, &less);
    if (e == ERR_OK)
        e = solve(&f, step.mean_s - noise, most, &more);
    if (e == ERR_OK)
        cost->ep_save = (struct cost_ep_save){true, save, save / 2, save / 2,
                                              fmax(save - less, more - save)};
    return e;
}
