/*
 * How it works: a layout becomes seconds per stage and per transfer, sim turns
 * them into the pipeline's makespan, and the step's overhead comes on top. The
 * interval moves every unit cost by its standard error, one at a time, and
 * adds the effects in quadrature.
 */
#include "plan.h"

#include "base/writer.h"
#include "sim/transfer.h"

#include <math.h>
#include <string.h>

static const double NEAR = 0.98; // within 2% of the slowest stage
enum { SHAPE_BYTES = 3 * 8 };    // a shape message: three 64-bit integers

struct plan_engine {
    struct plan_context ctx;
    struct sim_engine *sim;
    struct overlap_times *overlap; // with EP overlap, else NULL
    double *fwd_s, *bwd_s, *x_s;   // [n_stages]
    struct err_msg msg;            // of the last step that failed
};

/* Only Megatron's memory can be unpredictable: moe-train's own is counted by
 * its size tables. */
enum err plan_context_check(const struct plan_context *ctx,
                            const struct memory_rules *rules, const char *where,
                            struct err_msg *msg)
{
    const char *why = memory_refusal(ctx->model);
    if (!why || ctx->hbm_bytes <= 0 || rules->trainer != TRAINER_MEGATRON)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "%s: memory is not predicted: %s: measure it with one run, "
                   "or plan without a limit",
                   where, why);
}

const char *plan_refusal(const struct plan_context *ctx, const struct layout *l)
{
    struct core_refusal why;
    if (!ctx->core || !core_version_refuses(ctx->core, l, &why))
        return NULL;
    return why.plain;
}

struct plan_engine *plan_engine_new(struct arena *a,
                                    const struct plan_context *ctx)
{
    const struct schedule *s = ctx->schedule;
    const size_t n = (size_t)s->pp * (size_t)s->vpp;
    struct plan_engine *e = arena_alloc(a, 1, sizeof *e);
    if (!e)
        return NULL;
    e->ctx = *ctx;
    e->sim = sim_engine_new(a, ctx->schedule);
    e->fwd_s = arena_alloc(a, n, sizeof *e->fwd_s);
    e->bwd_s = arena_alloc(a, n, sizeof *e->bwd_s);
    e->x_s = arena_alloc(a, n, sizeof *e->x_s);
    bool ok = e->sim && e->fwd_s && e->bwd_s && e->x_s;
    if (s->order.ep_overlap) {
        e->overlap = overlap_times_new(a, s, ctx->model);
        ok = ok && e->overlap;
    }
    return ok ? e : NULL;
}

/* Transfers of a layout. With standalone MTP the whole pipeline exchanges
 * shapes, and from the MTP stage on a message carries 1+K hidden states. */
static void set_transfers(const struct plan_context *ctx,
                          const struct layout *l, double *x_s,
                          struct sim_input *in)
{
    const bool standalone = layout_mtp_standalone(l);
    const int mtp = layout_mtp_stage(l);
    const int value_bytes = ctx->cost->rules.value_bytes;
    for (int s = 0; s < l->n_stages; s++) {
        int n_states = standalone && s >= mtp ? 1 + ctx->model->n_mtp : 1;
        x_s[s] = cost_transfer_s(
            ctx->cost, transfer_bytes(ctx->model, value_bytes, n_states));
    }
    in->x_s = x_s;
    in->shape_exchange = standalone;
    in->shape_x_s = cost_transfer_s(ctx->cost, SHAPE_BYTES);
    in->sync_s = ctx->cost->exchange_sync_s;
}

/* What a step takes outside the pipeline grows with the parameters of the
 * heaviest rank: its optimiser and gradient sums end last. */
static double plan_overhead(const struct plan_context *ctx,
                            const struct layout *l)
{
    int64_t most = 0;
    for (int r = 0; r < l->pp; r++) {
        int64_t n = 0;
        for (int s = r; s < l->n_stages; s += l->pp)
            n += memory_stage_params(ctx->model, l, s);
        most = n > most ? n : most;
    }
    return ctx->cost->overhead_s + ctx->cost->overhead_s_per_byte *
                                       (double)most *
                                       ctx->cost->rules.param_bytes;
}

static struct sim_input input_of(struct plan_engine *e, const struct layout *l)
{
    struct sim_input in = {.schedule = e->ctx.schedule,
                           .fwd_s = e->fwd_s,
                           .bwd_s = e->bwd_s,
                           .mode = e->ctx.mode};
    for (int s = 0; s < l->n_stages; s++) {
        struct cost_times t = cost_stage(e->ctx.cost, e->ctx.model, l, s);
        e->fwd_s[s] = t.fwd_s;
        e->bwd_s[s] = t.bwd_s;
    }
    set_transfers(&e->ctx, l, e->x_s, &in);
    const struct overlap_layout of = {.cost = e->ctx.cost,
                                      .model = e->ctx.model,
                                      .layout = l,
                                      .fwd_s = e->fwd_s,
                                      .bwd_s = e->bwd_s,
                                      .save = e->ctx.save};
    if (e->overlap)
        in.combined = overlap_times_set(e->overlap, &of);
    return in;
}

enum err plan_engine_step(struct plan_engine *e, const struct layout *l,
                          double *step_s)
{
    struct sim_input in = input_of(e, l);
    enum err err = sim_engine_step(e->sim, &in, step_s, &e->msg);
    if (err == ERR_OK)
        *step_s += plan_overhead(&e->ctx, l);
    return err;
}

const char *plan_engine_error(const struct plan_engine *e)
{
    return e->msg.text;
}

enum err plan_engine_replay(struct plan_engine *e, const struct plan_ops *ops,
                            double *step_s)
{
    struct sim_input in = input_of(e, ops->layout);
    in.op_fwd_s = ops->fwd_s;
    in.op_bwd_s = ops->bwd_s;
    enum err err = sim_engine_step(e->sim, &in, step_s, &e->msg);
    if (err == ERR_OK)
        *step_s += plan_overhead(&e->ctx, ops->layout);
    return err;
}

/* Square of the standard error of the step time. */
static enum err step_variance(struct arena *a, const struct plan_context *ctx,
                              const struct layout *l, double step_s,
                              double *variance)
{
    struct cost moved = *ctx->cost;
    struct plan_context with = *ctx;
    with.cost = &moved;
    struct plan_engine *e = plan_engine_new(a, &with);
    if (!e)
        return ERR_NOMEM;
    double noise = ctx->cost->step_noise_rel * step_s;
    *variance = noise * noise;
    for (int k = 0; k < 2 * N_KINDS; k++) {
        const struct unit_cost *from = &ctx->cost->unit[k / 2];
        struct unit_cost *to = &moved.unit[k / 2];
        double se = k % 2 ? from->bwd_se : from->fwd_se, t = 0;
        if (se <= 0)
            continue;
        *(k % 2 ? &to->bwd_s : &to->fwd_s) += se;
        enum err err = plan_engine_step(e, l, &t);
        if (err != ERR_OK)
            return err;
        *variance += (t - step_s) * (t - step_s);
        *to = *from;
    }
    return ERR_OK;
}

static enum err check_joint(const struct plan_context *ctx,
                            const struct layout *l, struct err_msg *msg)
{
    int mtp = layout_mtp_stage(l);
    if (!ctx->cost->joint_ml || mtp < 0 || layout_stage(l, mtp).n_loss)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "layout has m and L on different stages, but the costs "
                   "know them only together: profile a layout with m on a "
                   "stage of its own");
}

int64_t plan_rank_peak(const struct memory_terms *terms, const struct layout *l,
                       int rank)
{
    struct memory_rank mem;
    memory_rank(terms, l, rank, &mem);
    return mem.peak_bytes;
}

static enum err fill_stages(struct arena *a, const struct plan_context *ctx,
                            const struct layout *l, struct plan *p,
                            struct err_msg *msg)
{
    struct plan_stage *stages =
        arena_alloc(a, (size_t)l->n_stages, sizeof *stages);
    if (!stages)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    struct memory_terms terms;
    memory_terms(ctx->model, &ctx->cost->rules, ctx->platform, &terms);
    for (int s = 0; s < l->n_stages; s++) {
        int in_flight = schedule_max_in_flight(ctx->schedule, s % l->pp);
        struct cost_times t = cost_stage(ctx->cost, ctx->model, l, s);
        stages[s] = (struct plan_stage){
            .units = l->units[s],
            .fwd_s = t.fwd_s,
            .bwd_s = t.bwd_s,
            .mem_bytes = plan_rank_peak(&terms, l, s % l->pp),
            .in_flight = in_flight};
        p->empty_stage = p->empty_stage || !*l->units[s];
        if (memory_judge(&terms, stages[s].mem_bytes, ctx->hbm_bytes,
                         ctx->memory_margin) != MEMORY_FITS)
            p->tight_memory = true;
    }
    p->stages = stages;
    p->n_stages = l->n_stages;
    return ERR_OK;
}

/* A rank's work of a micro-batch, all its chunks. */
static double plan_rank_work(const struct plan_context *ctx,
                             const struct layout *l, int rank)
{
    double sum = 0;
    for (int s = rank; s < l->n_stages; s += l->pp) {
        struct cost_times t = cost_stage(ctx->cost, ctx->model, l, s);
        sum += t.fwd_s + t.bwd_s;
    }
    return sum;
}

int plan_near_bottleneck(const struct plan_context *ctx, const struct layout *l)
{
    double most = 0;
    for (int r = 0; r < l->pp; r++)
        most = fmax(most, plan_rank_work(ctx, l, r));
    int n = 0;
    for (int r = 0; r < l->pp; r++)
        n += plan_rank_work(ctx, l, r) >= NEAR * most;
    return n;
}

/* The layout's own strings, since the caller's may change. */
static enum err copy_layout(struct arena *a, const struct layout *l,
                            struct layout *out, struct err_msg *msg)
{
    *out = *l;
    out->units = arena_alloc(a, (size_t)l->n_stages, sizeof *out->units);
    for (int s = 0; s < l->n_stages && out->units; s++) {
        out->units[s] = arena_strdup(a, l->units[s]);
        if (!out->units[s])
            out->units = NULL;
    }
    return out->units ? ERR_OK : err_set(msg, ERR_NOMEM, "plan: out of memory");
}

enum err plan_predict(struct arena *a, const struct plan_context *ctx,
                      const struct layout *l, struct plan *out,
                      struct err_msg *msg)
{
    struct plan p = {.exp_step_s = (double)NAN,
                     .exp_lo_s = (double)NAN,
                     .exp_hi_s = (double)NAN,
                     .speedup_vs_default = (double)NAN,
                     .speedup_vs_count_based = (double)NAN,
                     .standalone_mtp = layout_mtp_standalone(l)};
    enum err err = check_joint(ctx, l, msg);
    if (err == ERR_OK)
        err = copy_layout(a, l, &p.parsed, msg);
    if (err != ERR_OK)
        return err;
    struct plan_engine *e = plan_engine_new(a, ctx);
    p.layout = layout_string(a, l);
    if (!e || !p.layout)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    double variance = 0;
    err = plan_engine_step(e, l, &p.pred_step_s);
    if (err == ERR_OK)
        err = step_variance(a, ctx, l, p.pred_step_s, &variance);
    if (err != ERR_OK)
        return err_set(msg, err, "layout '%s': %s", p.layout, e->msg.text);
    p.pred_lo_s = p.pred_step_s - 1.96 * sqrt(variance);
    p.pred_hi_s = p.pred_step_s + 1.96 * sqrt(variance);
    p.near_bottleneck = plan_near_bottleneck(ctx, l);
    err = fill_stages(a, ctx, &p.parsed, &p, msg);
    if (err == ERR_OK)
        *out = p;
    return err;
}

enum err plan_simulate(struct arena *a, const struct plan_context *ctx,
                       const struct layout *l, struct sim_result *out,
                       struct err_msg *msg)
{
    enum err err = check_joint(ctx, l, msg);
    if (err != ERR_OK)
        return err;
    struct plan_engine *e = plan_engine_new(a, ctx);
    if (!e)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    struct sim_input in = input_of(e, l);
    in.want_events = true;
    return sim_run(a, &in, out, msg);
}

enum err plan_replay(struct arena *a, const struct plan_context *ctx,
                     const struct plan_ops *ops, double *step_s,
                     struct err_msg *msg)
{
    struct plan_engine *e = plan_engine_new(a, ctx);
    if (!e)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    enum err err = plan_engine_replay(e, ops, step_s);
    return err == ERR_OK ? err : err_set(msg, err, "replay: %s", e->msg.text);
}

/* ---- JSON ---- */

cJSON *plan_to_json(const struct plan *p)
{
    struct writer_doc doc;
    struct writer tree = writer_open(&doc);
    writer_text(tree, "layout", p->layout);
    writer_number(tree, "pred_step_ms", p->pred_step_s * 1e3);
    writer_number(tree, "pred_lo_ms", p->pred_lo_s * 1e3);
    writer_number(tree, "pred_hi_ms", p->pred_hi_s * 1e3);
    writer_number(tree, "expected_step_ms", p->exp_step_s * 1e3);
    writer_number(tree, "expected_lo_ms", p->exp_lo_s * 1e3);
    writer_number(tree, "expected_hi_ms", p->exp_hi_s * 1e3);
    writer_number(tree, "speedup_vs_default", p->speedup_vs_default);
    writer_number(tree, "speedup_vs_count_based", p->speedup_vs_count_based);
    writer_number(tree, "near_bottleneck", p->near_bottleneck);
    struct writer flags = writer_list(tree, "flags");
    if (p->standalone_mtp)
        writer_text(flags, NULL, "standalone-mtp");
    if (p->empty_stage)
        writer_text(flags, NULL, "empty-stage");
    if (p->tight_memory)
        writer_text(flags, NULL, "tight-memory");
    struct writer stages = writer_list(tree, "stages");
    for (int s = 0; s < p->n_stages; s++) {
        struct writer item = writer_object(stages, NULL);
        writer_text(item, "units", p->stages[s].units);
        writer_number(item, "fwd_ms", p->stages[s].fwd_s * 1e3);
        writer_number(item, "bwd_ms", p->stages[s].bwd_s * 1e3);
        writer_number(item, "mem_bytes", (double)p->stages[s].mem_bytes);
        writer_number(item, "in_flight", p->stages[s].in_flight);
    }
    return writer_close(&doc);
}
