/* moe-layout fit and costs: make a costs file. */
#include "cost/fit.h"
#include "base/json.h"
#include "base/text.h"
#include "base/writer.h"
#include "calibrate/fit_check.h"
#include "calibrate/overhead.h"
#include "cmd.h"
#include "memory/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading the runs ---- */

/* Splits LAYOUT=LOG at the first '='. */
static enum err read_run(struct cmd *c, const struct model *m, const char *text,
                         struct fit_run *out)
{
    const char *equals = strchr(text, '=');
    struct runlog *log = arena_alloc(&c->arena, 1, sizeof *log);
    char *hash = arena_alloc(&c->arena, TEXT_SHA256_HEX, 1);
    if (!equals)
        return err_set(&c->msg, ERR_PARSE, "--run: got '%s', want LAYOUT=LOG",
                       text);
    const char *layout =
        arena_strndup(&c->arena, text, (size_t)(equals - text));
    if (!log || !hash || !layout)
        return err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
    *out = (struct fit_run){
        .layout_text = layout, .log = log, .log_sha256 = hash, .speed = 1};
    enum err e = layout_read(&c->arena, layout, m, &out->layout, &c->msg);
    if (e == ERR_OK)
        e = logparse_read(&c->arena, equals + 1, log, &c->msg);
    if (e == ERR_OK)
        e = text_sha256_file(equals + 1, hash, &c->msg);
    return e;
}

static enum err read_runs(struct cmd *c, const struct model *m,
                          struct fit_run *runs)
{
    for (int i = 0; i < c->n_runs; i++) {
        enum err e = read_run(c, m, c->runs[i], &runs[i]);
        if (e != ERR_OK)
            return e;
    }
    return fit_check(&c->arena, m, runs, c->n_runs, &c->msg);
}

/* ---- printing ---- */

static void cmd_fit_write(struct writer tree, const struct fit *f)
{
    writer_tree(tree, "costs", cost_to_json(&f->cost));
    writer_number(tree, "rank", f->rank);
    writer_number(tree, "n_unknowns", f->n_unknowns);
    writer_number(tree, "condition", f->condition);
    writer_number(tree, "degrees_of_freedom", f->degrees_of_freedom);
    if (f->note)
        writer_text(tree, "note", f->note);
    struct writer list = writer_list(tree, "residuals");
    for (int i = 0; i < f->n_residuals; i++) {
        const struct fit_residual *r = &f->residuals[i];
        struct writer item = writer_object(list, NULL);
        writer_number(item, "run", r->run);
        writer_number(item, "stage", r->stage);
        writer_number(item, "meas_fwd_s", r->meas_fwd_s);
        writer_number(item, "pred_fwd_s", r->pred_fwd_s);
        writer_number(item, "meas_bwd_s", r->meas_bwd_s);
        writer_number(item, "pred_bwd_s", r->pred_bwd_s);
        writer_number(item, "spread_fwd_s", r->spread_fwd_s);
        writer_number(item, "spread_bwd_s", r->spread_bwd_s);
    }
}

static void print_costs(const struct cost *c)
{
    printf("%-8s %12s %10s %12s %10s   (%s; 95%% intervals)\n", "unit",
           "forward ms", "+-", "backward ms", "+-",
           cost_source_name(c->source));
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *u = &c->unit[k];
        if (!u->known)
            continue;
        bool joint = k == KIND_L && c->joint_ml;
        printf("%-8s %12.4f %10.4f %12.4f %10.4f\n",
               joint ? "mL" : kind_name((enum unit_kind)k), u->fwd_s * 1e3,
               1.96e3 * u->fwd_se, u->bwd_s * 1e3, 1.96e3 * u->bwd_se);
    }
}

static void cmd_fit_print_fit(const struct fit *f, const struct fit_run *runs)
{
    const struct cost *c = &f->cost;
    print_costs(c);
    printf("timers' constant a chunk: %.4f ms; step outside the pipeline: "
           "%.3f ms + %.4f ms/MB of the heaviest stage\n",
           c->chunk_s * 1e3, c->overhead_s * 1e3, c->overhead_s_per_byte * 1e9);
    printf("rank %d of %d, condition %.1f, %d degrees of freedom\n", f->rank,
           f->n_unknowns, f->condition, f->degrees_of_freedom);
    if (f->note)
        printf("note: %s\n", f->note);
    printf("\n%-24s %5s %10s %10s %8s %10s %10s %8s\n", "layout", "stage",
           "meas fwd", "fit fwd", "error %", "meas bwd", "fit bwd", "error %");
    for (int i = 0; i < f->n_residuals; i++) {
        const struct fit_residual *r = &f->residuals[i];
        printf("%-24s %5d %10.4f %10.4f %8.2f %10.4f %10.4f %8.2f\n",
               runs[r->run].layout_text, r->stage, r->meas_fwd_s * 1e3,
               r->pred_fwd_s * 1e3,
               100 * (r->pred_fwd_s - r->meas_fwd_s) / r->meas_fwd_s,
               r->meas_bwd_s * 1e3, r->pred_bwd_s * 1e3,
               100 * (r->pred_bwd_s - r->meas_bwd_s) / r->meas_bwd_s);
    }
}

static void cmd_fit_print_memory(const struct memory_fit *f,
                                 const struct fit_run *runs)
{
    if (!f->n_rows)
        return;
    printf("\n%-24s %5s %12s %12s %8s %12s %8s\n", "layout", "rank", "peak MiB",
           "model MiB", "error %", "fitted MiB", "error %");
    for (int i = 0; i < f->n_rows; i++) {
        const struct memory_fit_row *r = &f->rows[i];
        double meas = (double)r->meas_bytes;
        printf("%-24s %5d %12.1f %12.1f %8.2f %12.1f %8.2f\n",
               runs[r->run].layout_text, r->rank, meas / (1 << 20),
               (double)r->model_bytes / (1 << 20),
               100 * ((double)r->model_bytes / meas - 1),
               (double)r->pred_bytes / (1 << 20),
               100 * ((double)r->pred_bytes / meas - 1));
    }
    printf("memory: %.2f%% root mean square without corrections, %.2f%% with "
           "them\n",
           100 * f->model_error, 100 * f->fit_error);
}

static void cmd_fit_write_memory(struct writer to, const struct memory_fit *f)
{
    struct writer list = writer_list(to, "memory_residuals");
    for (int i = 0; i < f->n_rows; i++) {
        const struct memory_fit_row *r = &f->rows[i];
        struct writer item = writer_object(list, NULL);
        writer_number(item, "run", r->run);
        writer_number(item, "rank", r->rank);
        writer_number(item, "meas_bytes", (double)r->meas_bytes);
        writer_number(item, "model_bytes", (double)r->model_bytes);
        writer_number(item, "pred_bytes", (double)r->pred_bytes);
    }
}

static enum err write_costs(struct cmd *c, const struct cost *cost)
{
    if (!c->option[OPT_OUT])
        return ERR_OK;
    const char *line = writer_print_tree(&c->arena, cost_to_json(cost));
    if (!line)
        return err_set(&c->msg, ERR_NOMEM, "costs: out of memory");
    return text_write_file(c->option[OPT_OUT], line, strlen(line), &c->msg);
}

/* ---- commands ---- */

static enum err cmd_fit_fit(struct cmd *c, const struct model *m,
                            const struct plan_settings *set,
                            const struct fit_run *runs, struct fit *out)
{
    struct schedule schedule;
    enum err e = fit_costs(&c->arena, &(struct fit_input){m, runs, c->n_runs},
                           out, &c->msg);
    if (e == ERR_OK)
        e = schedule_1f1b(&c->arena, m->par.pp, (int)m->batch.n_microbatches,
                          &schedule, &c->msg);
    if (e != ERR_OK)
        return e;
    struct plan_context ctx = {.model = m,
                               .cost = &out->cost,
                               .n_mb = schedule.n_mb,
                               .schedule = &schedule};
    plan_settings_apply(set, m->par.vpp, &ctx);
    const struct overhead_runs all = {runs, c->n_runs};
    return overhead_fit(&c->arena, &ctx, &all, &out->cost, &c->msg);
}

/* Memory lines correct the memory model; without a prediction to correct, or
 * without lines, nothing is fitted. */
static enum err fit_memory(struct cmd *c, const struct memory_fit_input *in,
                           struct cost *cost, struct memory_fit *out)
{
    *out = (struct memory_fit){.n_rows = 0};
    if (cost->rules.trainer == TRAINER_MEGATRON && memory_refusal(in->model))
        return ERR_OK;
    return memory_fit(&c->arena, in, &cost->rules, out, &c->msg);
}

/* Timers scatter by percents; more than this is another layout or model. */
static const double SUSPICIOUS = 0.15;

static void warn_of_misfit(const struct fit *f)
{
    if (f->worst_misfit > SUSPICIOUS)
        fprintf(stderr,
                "moe-layout: warning: a stage is off by %.0f%%: are these the "
                "logs of the layouts named, and of this model?\n",
                100 * f->worst_misfit);
}

static enum err run_fit(struct cmd *c)
{
    struct cmd_model m;
    struct fit f;
    struct memory_fit memory;
    struct plan_settings set;
    enum err e = cmd_model(c, &m);
    if (e == ERR_OK)
        e = cmd_settings(c, &set);
    if (e == ERR_OK)
        e = cmd_refuse_vpp(c, &m.model);
    if (e == ERR_OK && c->n_runs == 0)
        e = err_set(&c->msg, ERR_PARSE, "fit: want --run LAYOUT=LOG, twice");
    if (e == ERR_OK && !m.batch_given)
        e = err_set(&c->msg, ERR_PARSE,
                    "fit: --gbs: missing: timers are sums over the "
                    "micro-batches");
    if (e != ERR_OK)
        return e;
    struct fit_run *runs =
        arena_alloc(&c->arena, (size_t)c->n_runs, sizeof *runs);
    if (!runs)
        return err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
    const struct memory_fit_input in = {&m.model, runs, c->n_runs,
                                        set.platform};
    e = read_runs(c, &m.model, runs);
    if (e == ERR_OK)
        e = cmd_fit_fit(c, &m.model, &set, runs, &f);
    if (e == ERR_OK)
        e = fit_memory(c, &in, &f.cost, &memory);
    if (e == ERR_OK)
        e = write_costs(c, &f.cost);
    if (e != ERR_OK)
        return e;
    warn_of_misfit(&f);
    if (cmd_given(c, OPT_JSON)) {
        struct writer_doc doc;
        struct writer top = writer_open(&doc);
        cmd_fit_write(top, &f);
        cmd_fit_write_memory(top, &memory);
        return writer_print(&doc, true, stdout, &c->msg);
    }
    cmd_fit_print_fit(&f, runs);
    cmd_fit_print_memory(&memory, runs);
    return ERR_OK;
}

static enum err run_costs(struct cmd *c)
{
    struct cmd_model m;
    struct cost cost;
    double tflops = 100;
    enum err e = cmd_model(c, &m);
    if (e == ERR_OK && !cmd_given(c, OPT_ANALYTIC))
        e = err_set(&c->msg, ERR_PARSE,
                    "costs: want --analytic (measured costs come from "
                    "'moe-layout fit')");
    if (e == ERR_OK)
        e = cmd_require_seq(c, &m);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_TFLOPS, 1e-6, 1e9, &tflops);
    if (e != ERR_OK)
        return e;
    cost_analytic(&m.model, tflops * 1e12, &cost);
    struct model_fact facts[MODEL_N_FACTS];
    cost.n_facts = model_facts(&m.model, facts);
    cost.facts = facts;
    e = write_costs(c, &cost);
    if (e != ERR_OK)
        return e;
    if (cmd_given(c, OPT_JSON))
        return json_print_and_delete(cost_to_json(&cost), true, stdout,
                                     &c->msg);
    print_costs(&cost);
    printf("assumed: %g TFLOP/s; only the ratios mean something\n", tflops);
    return ERR_OK;
}

static const enum cmd_option fit_options[] = {
    OPT_RUN,      OPT_PP,  OPT_GBS,  OPT_MBS,  OPT_SEQ,   OPT_TP,
    OPT_CP,       OPT_VPP, OPT_EP,   OPT_ETP,  OPT_WORLD, OPT_P2P,
    OPT_PLATFORM, OPT_OUT, OPT_JSON, OPT_HELP, N_OPTIONS};
static const enum cmd_option cost_options[] = {
    OPT_ANALYTIC, OPT_TFLOPS, OPT_MBS,  OPT_GBS,  OPT_SEQ, OPT_TP,
    OPT_PP,       OPT_VPP,    OPT_CP,   OPT_EP,   OPT_ETP, OPT_WORLD,
    OPT_OUT,      OPT_JSON,   OPT_HELP, N_OPTIONS};

const struct command CMD_FIT = {
    .name = "fit",
    .run = run_fit,
    .synopsis = "fit MODEL --pp N --gbs B --run \"LAYOUT=LOG\" --run "
                "\"LAYOUT=LOG\" [-o costs.json]",
    .help =
        "Seconds forward and backward a micro-batch of every unit kind, from "
        "the per-rank forward-compute\nand backward-compute timers of short "
        "runs (--timing-log-level 2 --timing-log-option all).\nExample: "
        "moe-layout fit model.json --pp 4 --gbs 64 --run 'Et*4|t*6|t*5|tmL=a."
        "log' \\\n    --run 'Et*5|t*6|t*5m|L=b.log' -o costs.json",
    .options = fit_options,
    .takes_model = true,
};

const struct command CMD_COSTS = {
    .name = "costs",
    .run = run_costs,
    .synopsis = "costs MODEL --analytic [-o costs.json]",
    .help = "Costs in proportion to FLOPs, backward twice forward: what a "
            "planner without measurements assumes.\nExample: moe-layout costs "
            "experiments/models/7b-a1b.json --analytic -o flops.json",
    .options = cost_options,
    .takes_model = true,
};
