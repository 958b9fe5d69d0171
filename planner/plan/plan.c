/*
 * How it works: a layout becomes seconds per stage and per transfer, sim turns
 * them into the pipeline's makespan, and the step's overhead comes on top. The
 * interval moves every unit cost by its standard error, one at a time, and
 * adds the effects in quadrature.
 */
#include "plan.h"

#include "base/writer.h"
#include "cost/outside.h"
#include "layout/symbols.h"
#include "sim/transfer.h"

#include <math.h>
#include <string.h>

static const double PLAN_NEAR = 0.98; // within 2% of the slowest stage
enum { PLAN_SHAPE_BYTES = 3 * 8 };    // a shape message: three 64-bit integers

/* Times of a layout that is being simulated, one among others. */
struct plan_lane {
    double *fwd_s, *bwd_s, *x_s;   // [n_stages]
    struct overlap_times *overlap; // with EP overlap, else NULL
};

/* Layouts that are simulated together: enough to fill the simulator's lanes
 * after it has sorted them by kind and by the period of their rounds. */
enum { PLAN_LANES = 256 };

struct plan_engine {
    struct arena *arena;
    struct plan_context ctx;
    struct sim_engine *sim;
    struct plan_lane *lanes; // [PLAN_LANES], of which n_lanes have memory
    int n_lanes;
    struct sim_input *inputs; // [PLAN_LANES], as steps_s
    double *steps_s;
    bool *between;      // [pp]: to the next rank is to another node
    struct err_msg msg; // of the last step that failed
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

/* Savings are copied out so that step_variance() can move them alone. */
void plan_context_costs(struct plan_context *ctx, const struct cost *cost)
{
    const struct cost_ep_save *s = &cost->ep_save;
    ctx->cost = cost;
    ctx->save = (struct overlap_save){s->both_s, s->forward_s, s->backward_s};
    ctx->save_se_s = s->se_s;
}

const char *plan_refusal(const struct plan_context *ctx, const struct layout *l)
{
    struct core_refusal why;
    if (!ctx->core || !core_version_refuses(ctx->core, l, &why))
        return NULL;
    return why.plain;
}

/* ---- what an engine takes ---- */

/* The engine's arrays have a place for each stage of the schedule: a layout of
 * another number of chunks has no place in them. */
static enum err check_stages(const struct plan_context *ctx,
                             const struct layout *l, struct err_msg *msg)
{
    const struct schedule *s = ctx->schedule;
    if (l->n_stages == s->pp * s->vpp)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "layout has %d stages, want %d: %d ranks with %d chunk%s",
                   l->n_stages, s->pp * s->vpp, s->pp, s->vpp,
                   s->vpp > 1 ? "s each" : "");
}

/* Costs without m apart from L would give a stage of m alone no time. */
static enum err check_layout(const struct plan_context *ctx,
                             const struct layout *l, struct err_msg *msg)
{
    enum err e = check_stages(ctx, l, msg);
    int mtp = layout_mtp_stage(l);
    if (e != ERR_OK || !ctx->cost->joint_ml || mtp < 0 ||
        layout_stage(l, mtp).n_loss)
        return e;
    return err_set(msg, ERR_MODEL,
                   "layout has m and L on different stages, but the costs "
                   "know them only together: profile a layout with m on a "
                   "stage of its own");
}

/* Memory of the first n lanes. */
static bool plan_lanes(struct plan_engine *e, int n)
{
    const struct schedule *s = e->ctx.schedule;
    const size_t n_stages = (size_t)s->pp * (size_t)s->vpp;
    for (; e->n_lanes < n; e->n_lanes++) {
        struct plan_lane *lane = &e->lanes[e->n_lanes];
        double *times = arena_alloc(e->arena, 3 * n_stages, sizeof *times);
        if (!times)
            return false;
        lane->fwd_s = times;
        lane->bwd_s = times + n_stages;
        lane->x_s = times + 2 * n_stages;
        if (!s->order.ep_overlap)
            continue;
        lane->overlap = overlap_times_new(e->arena, s, e->ctx.model);
        if (!lane->overlap)
            return false;
    }
    return true;
}

/* An engine whose graphs are those of `sim`, of the context's schedule. */
static struct plan_engine *plan_engine_with(struct arena *a,
                                            const struct plan_context *ctx,
                                            struct sim_engine *sim)
{
    const int pp = ctx->schedule->pp;
    struct plan_engine *e = arena_alloc(a, 1, sizeof *e);
    if (!e)
        return NULL;
    e->arena = a;
    e->ctx = *ctx;
    e->sim = sim;
    e->lanes = arena_alloc(a, PLAN_LANES, sizeof *e->lanes);
    e->inputs = arena_alloc(a, PLAN_LANES, sizeof *e->inputs);
    e->steps_s = arena_alloc(a, PLAN_LANES, sizeof *e->steps_s);
    e->between = arena_alloc(a, (size_t)pp, sizeof *e->between);
    if (!sim || !e->lanes || !e->inputs || !e->steps_s || !e->between)
        return NULL;
    for (int r = 0; r < pp; r++)
        e->between[r] =
            transfer_between_nodes(&ctx->model->par, pp, ctx->gpus_per_node, r);
    return plan_lanes(e, 1) ? e : NULL;
}

/* Graphs of the schedule are compiled here, once for all layouts. */
struct plan_engine *plan_engine_new(struct arena *a,
                                    const struct plan_context *ctx)
{
    return plan_engine_with(a, ctx, sim_engine_new(a, ctx->schedule));
}

/* Transfers of a layout. With standalone MTP the whole pipeline exchanges
 * shapes, and from the MTP stage on a message carries 1+K hidden states. The
 * simulator knows one time of a shape: that of the slowest boundary. */
static void set_transfers(const struct plan_engine *e, const struct layout *l,
                          double *x_s, struct sim_input *in)
{
    const struct plan_context *ctx = &e->ctx;
    const bool standalone = layout_mtp_standalone(l);
    const int mtp = layout_mtp_stage(l);
    const int value_bytes = ctx->cost->rules.value_bytes;
    in->shape_x_s = 0;
    for (int s = 0; s < l->n_stages; s++) {
        const bool between = e->between[s % l->pp];
        int n_states = standalone && s >= mtp ? 1 + ctx->model->n_mtp : 1;
        double bytes = transfer_bytes(ctx->model, value_bytes, n_states);
        x_s[s] = cost_transfer_s(ctx->cost, bytes, between);
        in->shape_x_s =
            fmax(in->shape_x_s,
                 s + 1 < l->n_stages
                     ? cost_transfer_s(ctx->cost, PLAN_SHAPE_BYTES, between)
                     : 0);
    }
    in->x_s = x_s;
    in->shape_exchange = standalone;
    in->sync_s = ctx->cost->exchange_sync_s;
}

/* What a step takes outside the pipeline grows with the parameters of the
 * heaviest rank: its optimiser and gradient sums end last. */
static double plan_overhead(const struct plan_context *ctx,
                            const struct layout *l)
{
    int64_t most = 0;
    const double fixed_s =
        ctx->cost->overhead_s + outside_dp_s(ctx->cost, ctx->model, l);
    if (ctx->cost->overhead_s_per_byte <= 0)
        return fixed_s;
    for (int r = 0; r < l->pp; r++) {
        int64_t n = memory_rank_params(ctx->model, l, r);
        most = n > most ? n : most;
    }
    return fixed_s + ctx->cost->overhead_s_per_byte * (double)most *
                         ctx->cost->rules.param_bytes;
}

static struct sim_input input_of(const struct plan_engine *e,
                                 const struct plan_lane *lane,
                                 const struct layout *l)
{
    struct sim_input in = {.schedule = e->ctx.schedule,
                           .fwd_s = lane->fwd_s,
                           .bwd_s = lane->bwd_s,
                           .mode = e->ctx.mode};
    for (int s = 0; s < l->n_stages; s++) {
        struct cost_times t = cost_stage(e->ctx.cost, e->ctx.model, l, s);
        lane->fwd_s[s] = t.fwd_s;
        lane->bwd_s[s] = t.bwd_s;
    }
    set_transfers(e, l, lane->x_s, &in);
    const struct overlap_layout of = {.cost = e->ctx.cost,
                                      .model = e->ctx.model,
                                      .layout = l,
                                      .fwd_s = lane->fwd_s,
                                      .bwd_s = lane->bwd_s,
                                      .save = e->ctx.save};
    if (lane->overlap)
        in.combined = overlap_times_set(lane->overlap, &of);
    return in;
}

/* A rank's work of a micro-batch, all its chunks. */
static double plan_rank_work(const struct plan_lane *lane,
                             const struct layout *l, int rank)
{
    double sum = 0;
    for (int s = rank; s < l->n_stages; s += l->pp)
        sum += lane->fwd_s[s] + lane->bwd_s[s];
    return sum;
}

/* Beside the step what tells layouts of equal steps apart: the sum of squares
 * of ranks' work, and how many ranks are close to the fullest. */
static struct plan_step plan_step_of(const struct plan_engine *e,
                                     const struct plan_lane *lane,
                                     const struct layout *l, double pipeline_s)
{
    struct plan_step step = {.step_s = pipeline_s + plan_overhead(&e->ctx, l)};
    double most = 0;
    for (int r = 0; r < l->pp; r++) {
        const double work = plan_rank_work(lane, l, r);
        most = fmax(most, work);
        step.unevenness += work * work;
    }
    for (int r = 0; r < l->pp; r++)
        step.near_bottleneck += plan_rank_work(lane, l, r) >= PLAN_NEAR * most;
    return step;
}

/* PLAN_LANES at a time; memory of lanes is kept for the next call. */
enum err plan_engine_steps(struct plan_engine *e, const struct layout *layouts,
                           int n, struct plan_step *out)
{
    for (int done = 0, some; done < n; done += some) {
        const struct layout *l = layouts + done;
        some = n - done < PLAN_LANES ? n - done : PLAN_LANES;
        if (!plan_lanes(e, some))
            return err_set(&e->msg, ERR_NOMEM, "out of memory");
        for (int i = 0; i < some; i++)
            e->inputs[i] = input_of(e, &e->lanes[i], &l[i]);
        enum err err =
            sim_engine_steps(e->sim, e->inputs, some, e->steps_s, &e->msg);
        if (err != ERR_OK)
            return err;
        for (int i = 0; i < some; i++)
            out[done + i] = plan_step_of(e, &e->lanes[i], &l[i], e->steps_s[i]);
    }
    return ERR_OK;
}

enum err plan_engine_step(struct plan_engine *e, const struct layout *l,
                          double *step_s)
{
    struct plan_step step;
    enum err err = plan_engine_steps(e, l, 1, &step);
    if (err == ERR_OK)
        *step_s = step.step_s;
    return err;
}

const char *plan_engine_error(const struct plan_engine *e)
{
    return e->msg.text;
}

/* As steps, but operations take the times that a run recorded for them. */
enum err plan_engine_replays(struct plan_engine *e, const struct plan_ops *ops,
                             int n, double *steps_s)
{
    for (int done = 0, some; done < n; done += some) {
        const struct plan_ops *o = ops + done;
        some = n - done < PLAN_LANES ? n - done : PLAN_LANES;
        if (!plan_lanes(e, some))
            return err_set(&e->msg, ERR_NOMEM, "out of memory");
        for (int i = 0; i < some; i++) {
            e->inputs[i] = input_of(e, &e->lanes[i], o[i].layout);
            e->inputs[i].op_fwd_s = o[i].fwd_s;
            e->inputs[i].op_bwd_s = o[i].bwd_s;
        }
        enum err err =
            sim_engine_steps(e->sim, e->inputs, some, steps_s + done, &e->msg);
        if (err != ERR_OK)
            return err;
        for (int i = 0; i < some; i++)
            steps_s[done + i] += plan_overhead(&e->ctx, o[i].layout);
    }
    return ERR_OK;
}

enum err plan_engine_replay(struct plan_engine *e, const struct plan_ops *ops,
                            double *step_s)
{
    return plan_engine_replays(e, ops, 1, step_s);
}

/* What moves when one number of the costs is off by its standard error. */
struct moved {
    struct plan_engine *moving;
    const struct layout *layout;
    struct plan_context ctx;
    struct cost cost; // ctx.cost points here
    double step_s;    // nothing moved
    double variance;  // of the step, summed up
};

/* Adds the effect of what was moved in m->ctx and m->cost. */
static enum err add_effect(struct moved *m, struct plan_engine *e)
{
    double t = 0;
    enum err err = plan_engine_step(e, m->layout, &t);
    if (err == ERR_OK)
        m->variance += (t - m->step_s) * (t - m->step_s);
    return err;
}

/* The three savings were fitted as one number, so they move together. */
static enum err add_save_effect(struct moved *m)
{
    struct overlap_save *s = &m->ctx.save;
    if (!m->ctx.schedule->order.ep_overlap || s->both_s <= 0 ||
        m->ctx.save_se_s <= 0)
        return ERR_OK;
    const double by = 1 + m->ctx.save_se_s / s->both_s;
    *s = (struct overlap_save){by * s->both_s, by * s->forward_s,
                               by * s->backward_s};
    m->moving->ctx = m->ctx;
    return add_effect(m, m->moving);
}

/* Square of the standard error of the step time. */
static enum err step_variance(struct plan_engine *e, const struct layout *l,
                              double step_s, double *variance)
{
    const struct plan_context usual = e->ctx, *ctx = &usual;
    const double noise = ctx->cost->step_noise_rel * step_s;
    struct moved m = {.moving = e,
                      .layout = l,
                      .ctx = usual,
                      .cost = *usual.cost,
                      .step_s = step_s,
                      .variance = noise * noise};
    enum err err = ERR_OK;
    m.ctx.cost = &m.cost;
    // the engine itself, for a while: a list of plans would otherwise take
    // memory for one more each
    e->ctx = m.ctx;
    for (int k = 0; k < 2 * N_KINDS && err == ERR_OK; k++) {
        const struct unit_cost *from = &ctx->cost->unit[k / 2];
        struct unit_cost *to = &m.cost.unit[k / 2];
        double se = k % 2 ? from->bwd_se : from->fwd_se;
        if (se <= 0)
            continue;
        *(k % 2 ? &to->bwd_s : &to->fwd_s) += se;
        err = add_effect(&m, e);
        *to = *from;
    }
    if (err == ERR_OK)
        err = add_save_effect(&m);
    e->ctx = usual;
    *variance = m.variance;
    return err;
}

/* Memory is a rank's: all its chunks show the same number. */
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
            .units = model_is_hybrid(ctx->model)
                         ? symbols_stage(a, l, ctx->model, s)
                         : l->units[s],
            .fwd_s = t.fwd_s,
            .bwd_s = t.bwd_s,
            .mem_bytes = plan_rank_peak(&terms, l, s % l->pp),
            .in_flight = in_flight};
        if (!stages[s].units)
            return err_set(msg, ERR_NOMEM, "plan: out of memory");
        p->empty_stage = p->empty_stage || !*l->units[s];
        if (memory_judge(&terms, stages[s].mem_bytes, ctx->hbm_bytes,
                         ctx->memory_margin) != MEMORY_FITS)
            p->tight_memory = true;
    }
    p->stages = stages;
    p->n_stages = l->n_stages;
    return ERR_OK;
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

enum err plan_engine_predict(struct plan_engine *e, const struct layout *l,
                             struct plan *out, struct err_msg *msg)
{
    struct plan p = {.exp_step_s = (double)NAN,
                     .exp_lo_s = (double)NAN,
                     .exp_hi_s = (double)NAN,
                     .speedup_vs_default = (double)NAN,
                     .speedup_vs_count_based = (double)NAN,
                     .standalone_mtp = layout_mtp_standalone(l)};
    struct plan_step step;
    double variance = 0;
    enum err err = check_layout(&e->ctx, l, msg);
    if (err == ERR_OK)
        err = copy_layout(e->arena, l, &p.parsed, msg);
    if (err != ERR_OK)
        return err;
    p.layout = layout_text(e->arena, l, e->ctx.model);
    if (!p.layout)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    err = plan_engine_steps(e, l, 1, &step);
    if (err == ERR_OK)
        err = step_variance(e, l, step.step_s, &variance);
    if (err != ERR_OK)
        return err_set(msg, err, "layout '%s': %s", p.layout, e->msg.text);
    p.pred_step_s = step.step_s;
    // 1.96 standard errors either way: a normal's 95% interval. Costs without
    // any (FLOPs, a data sheet) are not exact, so their interval is not known
    p.pred_lo_s = p.pred_hi_s = (double)NAN;
    if (variance > 0) {
        p.pred_lo_s = step.step_s - 1.96 * sqrt(variance);
        p.pred_hi_s = step.step_s + 1.96 * sqrt(variance);
    }
    p.near_bottleneck = step.near_bottleneck;
    err = fill_stages(e->arena, &e->ctx, &p.parsed, &p, msg);
    if (err == ERR_OK)
        *out = p;
    return err;
}

enum err plan_predict(struct arena *a, const struct plan_context *ctx,
                      const struct layout *l, struct plan *out,
                      struct err_msg *msg)
{
    struct plan_engine *e = plan_engine_new(a, ctx);
    return e ? plan_engine_predict(e, l, out, msg)
             : err_set(msg, ERR_NOMEM, "plan: out of memory");
}

/* Events are wanted here alone: they cost memory for each operation. */
enum err plan_simulate(struct arena *a, const struct plan_context *ctx,
                       const struct layout *l, struct sim_result *out,
                       struct err_msg *msg)
{
    enum err err = check_layout(ctx, l, msg);
    if (err != ERR_OK)
        return err;
    struct plan_engine *e = plan_engine_new(a, ctx);
    if (!e)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    struct sim_input in = input_of(e, &e->lanes[0], l);
    in.want_events = true;
    return sim_run(a, &in, out, msg);
}

enum err plan_replay(struct arena *a, const struct plan_context *ctx,
                     const struct plan_ops *ops, double *step_s,
                     struct err_msg *msg)
{
    enum err err = check_stages(ctx, ops->layout, msg);
    if (err != ERR_OK)
        return err;
    struct plan_engine *e = plan_engine_new(a, ctx);
    if (!e)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    err = plan_engine_replay(e, ops, step_s);
    return err == ERR_OK ? err : err_set(msg, err, "replay: %s", e->msg.text);
}

enum err plan_simulate_ops(struct arena *a, const struct plan_context *ctx,
                           const struct plan_ops *ops, struct sim_result *out,
                           struct err_msg *msg)
{
    enum err err = check_stages(ctx, ops->layout, msg);
    if (err != ERR_OK)
        return err;
    struct plan_engine *e = plan_engine_new(a, ctx);
    if (!e)
        return err_set(msg, ERR_NOMEM, "plan: out of memory");
    struct sim_input in = input_of(e, &e->lanes[0], ops->layout);
    in.op_fwd_s = ops->fwd_s;
    in.op_bwd_s = ops->bwd_s;
    return sim_run(a, &in, out, msg);
}

/* ---- JSON ---- */

/* Times in ms, as users read them; what is not known (NaN) becomes null. */
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
