#include "context.h"

#include <string.h>

/* A switch may stand among the model's keys or in trainer.args. */
static bool has_flag(const struct manifest *mf, const struct workload *w,
                     const char *flag)
{
    const struct words *all[] = {&w->flags, &mf->trainer.args};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < all[k]->n; i++)
            if (strcmp(all[k]->word[i], flag) == 0)
                return true;
    return false;
}

/* What the trainer will do: one chunk a rank is never overlapped, several are
 * unless told not to (Megatron's arguments.py). */
static enum p2p_mode context_mode(const struct manifest *mf,
                                  const struct workload *w)
{
    if (w->model.par.vpp == 1)
        return P2P_BLOCKING;
    if (has_flag(mf, w, "--no-overlap-p2p-communication"))
        return P2P_BLOCKING;
    if (has_flag(mf, w, "--overlap-p2p-communication-warmup-flush"))
        return P2P_OVERLAP_FLUSH;
    return p2p_mode_default(w->model.par.vpp);
}

enum err context_make(const struct manifest *mf, const struct workload *w,
                      struct schedule *schedule, struct plan_context *ctx,
                      struct err_msg *msg)
{
    const struct order order = order_of_model(&w->model);
    ctx->model = &w->model;
    ctx->mode = context_mode(mf, w);
    ctx->n_mb = order.n_mb;
    ctx->schedule = schedule;
    enum err e = schedule_outline(&order, ctx->mode, schedule, msg);
    return e == ERR_OK ? e : err_prefix(msg, e, "%s: parallel", mf->path);
}

/* A timer of a rank sums over its chunks, and under EP overlap forwards and
 * backwards share one: neither could be fitted. */
enum err context_of_profile(const struct plan_context *ctx, struct model *m,
                            struct schedule *schedule, struct plan_context *out,
                            struct err_msg *msg)
{
    *m = *ctx->model;
    m->par.vpp = 1;
    m->overlap_moe_comm = false;
    const struct order order = order_of_model(m);
    *out = *ctx;
    out->model = m;
    out->mode = P2P_BLOCKING;
    out->schedule = schedule;
    return schedule_outline(&order, P2P_BLOCKING, schedule, msg);
}
