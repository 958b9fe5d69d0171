/*
 * moe-layout fit and costs: make a costs file.
 *
 * How it works: runs are read and checked against the model, those with EP
 * overlap are set aside; unit costs come first, then what needs them (links,
 * overhead, savings of overlap), then corrections of memory. `costs` skips the
 * runs: FLOPs stand for times, and links are what the options say.
 */
#include "cost/fit.h"
#include "base/file.h"
#include "base/text.h"
#include "base/writer.h"
#include "calibrate/ep_save.h"
#include "calibrate/fit_check.h"
#include "calibrate/overhead.h"
#include "calibrate/transfers.h"
#include "cmd.h"
#include "fit.h"
#include "fit_steps.h"
#include "judge/logged.h"
#include "memory/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading the runs ---- */

/* Which of the two options the text came with. */
static const char *run_option(const struct cmd *c, const char *text)
{
    return text == c->option[OPT_OVERLAP_RUN] ? "--overlap-run" : "--run";
}

/* Layout and log of a run; the layout is "" where a log stands alone. */
static enum err split_run(struct cmd *c, const char *text, const char **path,
                          const char **layout)
{
    *path = cmd_log_path(text);
    const bool alone = *path == text;
    const size_t n = alone ? 0 : (size_t)(*path - text) - 1;
    *layout = arena_strndup(&c->arena, text, n);
    if (alone && access(text, F_OK) != 0)
        return err_set(&c->msg, ERR_PARSE,
                       "%s: got '%s', no file and no LAYOUT=LOG: want one, or "
                       "a LOG whose list of arguments tells its layout",
                       run_option(c, text), text);
    return *layout ? ERR_OK : err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
}

/* Of a log that was named alone. */
static enum err take_logged_layout(struct cmd *c, const char *path,
                                   const struct runlog *log,
                                   const char **layout)
{
    const struct core_version *core = NULL;
    enum err e = core_version_find(NULL, &core, &c->msg);
    if (e == ERR_OK)
        e = logged_layout(&c->arena, log, core, layout, &c->msg);
    if (e == ERR_OK && !*layout)
        e = err_set(&c->msg, ERR_PARSE,
                    "%s: %s does not tell its layout (no list of arguments of "
                    "Megatron's): want 'LAYOUT=%s'",
                    run_option(c, path), path, path);
    return e;
}

/* The layout says how many chunks a rank has. */
static enum err read_run(struct cmd *c, const struct model *m, const char *text,
                         struct fit_run *out)
{
    const char *path, *layout;
    struct runlog *log = arena_alloc(&c->arena, 1, sizeof *log);
    char *hash = arena_alloc(&c->arena, TEXT_SHA256_HEX, 1);
    if (!log || !hash)
        return err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
    enum err e = split_run(c, text, &path, &layout);
    if (e == ERR_OK)
        e = logparse_read(&c->arena, path, log, &c->msg);
    if (e == ERR_OK && !*layout)
        e = take_logged_layout(c, path, log, &layout);
    if (e != ERR_OK)
        return e;
    *out = (struct fit_run){
        .layout_text = layout, .log = log, .log_sha256 = hash, .speed = 1};
    e = cmd_layout(c, m, layout, &out->layout);
    // what came through a pipe cannot be read again: no hash, not that of none
    return e == ERR_OK && file_is_same(path, path)
               ? text_sha256_file(path, hash, &c->msg)
               : e;
}

/* The runs of a command line: those that the unit costs come from, and the one
 * with EP overlap or NULL. */
struct fit_cmd_runs {
    struct fit_run *profile;
    int n;
    struct fit_run *overlap;
};

/* Takes runs with EP overlap out, each with a word. */
static enum err drop_overlapped(struct cmd *c, struct fit_cmd_runs *runs)
{
    int n = 0;
    for (int i = 0; i < runs->n; i++) {
        const struct fit_run *r = &runs->profile[i];
        if (!fit_check_is_overlapped(r)) {
            runs->profile[n++] = *r;
            continue;
        }
        fprintf(stderr,
                "moe-layout: note: log of '%s': made with EP overlap: its "
                "forward-compute spans a forward and a backward, and "
                "backward-compute is absent: not used for unit costs "
                "(--overlap-run takes its step time)\n",
                r->layout_text);
    }
    if (n == 0 && runs->n > 0)
        return err_set(&c->msg, ERR_PARSE,
                       "fit: all runs were made with EP overlap: profile "
                       "without --overlap-moe-expert-parallel-comm, and give "
                       "one of these as --overlap-run");
    runs->n = n;
    return ERR_OK;
}

/* --overlap-run: with several chunks a rank or one stage, as Megatron has it.
 */
static enum err read_overlap_run(struct cmd *c, const struct model *m,
                                 struct fit_cmd_runs *runs)
{
    const char *text = c->option[OPT_OVERLAP_RUN];
    if (!text)
        return ERR_OK;
    runs->overlap = arena_alloc(&c->arena, 1, sizeof *runs->overlap);
    if (!runs->overlap)
        return err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
    enum err e = read_run(c, m, text, runs->overlap);
    return e == ERR_OK ? fit_check_overlap_run(&c->arena, m, runs->overlap,
                                               &runs->profile[0], &c->msg)
                       : e;
}

/* Layouts of all runs may have their own number of chunks; a --vpp that
 * disagrees with one is a slip in the command. */
static enum err read_runs(struct cmd *c, const struct model *m,
                          struct fit_cmd_runs *runs)
{
    runs->profile =
        arena_alloc(&c->arena, (size_t)c->n_runs, sizeof *runs->profile);
    if (!runs->profile)
        return err_set(&c->msg, ERR_NOMEM, "fit: out of memory");
    for (runs->n = 0; runs->n < c->n_runs; runs->n++) {
        struct fit_run *run = &runs->profile[runs->n];
        enum err e = read_run(c, m, c->runs[runs->n], run);
        if (e == ERR_OK && cmd_given(c, OPT_VPP) &&
            m->par.vpp != run->layout.vpp)
            e = err_set(&c->msg, ERR_RANGE,
                        "fit: --vpp %d: layout '%s' has %d for each rank",
                        m->par.vpp, run->layout_text, run->layout.vpp);
        if (e != ERR_OK)
            return e;
    }
    enum err e = drop_overlapped(c, runs);
    if (e == ERR_OK)
        e = fit_check(&c->arena, m, runs->profile, runs->n, &c->msg);
    return e == ERR_OK ? read_overlap_run(c, m, runs) : e;
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

/* Without a standard error nothing is known of how far off a time is. */
static const char *fit_margin(double se, char *text, size_t room)
{
    snprintf(text, room, "%.4f", 1.96e3 * se);
    return se > 0 ? text : "-";
}

/* 1.96 standard errors are a 95% interval: the fit scaled them for that. FLOPs
 * and data sheets have none, and costs of them are not exact. */
void fit_print_costs(const struct cost *c)
{
    char fwd[32], bwd[32];
    printf("%-8s %12s %10s %12s %10s   (%s; %s)\n", "unit", "forward ms", "+-",
           "backward ms", "+-", cost_source_name(c->source),
           c->source == COST_ANALYTIC ? "errors not known" : "95% intervals");
    for (int k = 0; k < N_KINDS; k++) {
        const struct unit_cost *u = &c->unit[k];
        if (!u->known)
            continue;
        bool joint = k == KIND_L && c->joint_ml;
        printf("%-8s %12.4f %10s %12.4f %10s\n",
               joint ? "mL" : kind_name((enum unit_kind)k), u->fwd_s * 1e3,
               fit_margin(u->fwd_se, fwd, sizeof fwd), u->bwd_s * 1e3,
               fit_margin(u->bwd_se, bwd, sizeof bwd));
    }
}

/* In the units of data sheets: microseconds, and bits a second. */
static void print_link(const char *where, const struct cost_link *l)
{
    printf("transfer%s: %.2f us", where, l->latency_s * 1e6);
    if (l->bytes_per_s > 0)
        printf(" + bytes at %.4g Gbit/s", l->bytes_per_s * 8e-9);
    printf("\n");
}

/* What is known of transfers and of EP overlap's savings. */
void fit_print_links(const struct cost *c)
{
    const struct cost_link inside = {c->latency_s, c->bytes_per_s};
    const struct cost_ep_save *s = &c->ep_save;
    if (c->latency_s > 0 || c->bytes_per_s > 0 || c->parted)
        print_link(c->parted ? " inside a node" : "", &inside);
    if (c->parted)
        print_link(" between nodes", &c->between);
    if (s->known)
        printf("EP overlap saves: %.4f ms (+- %.4f) of two MoE layers, %.4f "
               "ms with the forward's alone, %.4f ms with the backward's\n",
               s->both_s * 1e3, 1.96e3 * s->se_s, s->forward_s * 1e3,
               s->backward_s * 1e3);
}

/* Every stage with its residual: a stage that stands out was measured badly, or
 * is not what its layout says. */
static void cmd_fit_print_fit(const struct fit *f, const struct fit_run *runs)
{
    const struct cost *c = &f->cost;
    // whose chunks a timer adds up
    const char *place = runs[0].layout.vpp > 1 ? "rank" : "stage";
    fit_print_costs(c);
    printf("timers' constant a chunk: %.4f ms; step outside the pipeline: "
           "%.3f ms + %.4f ms/MB of the heaviest %s\n",
           c->chunk_s * 1e3, c->overhead_s * 1e3, c->overhead_s_per_byte * 1e9,
           place);
    fit_print_links(c);
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

/* Both errors, so that a reader sees what the corrections are worth. */
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

/* A costs file says what was assumed of the launch that it is for; readers pass
 * over it. */
static cJSON *costs_file(struct cmd *c, const struct cost *cost)
{
    struct writer_doc doc;
    cmd_write_account(c, writer_open_tree(&doc, cost_to_json(cost)));
    return writer_close(&doc);
}

enum err fit_write_costs(struct cmd *c, const struct cost *cost)
{
    if (!c->option[OPT_OUT])
        return ERR_OK;
    const char *line = writer_print_tree(&c->arena, costs_file(c, cost));
    if (!line)
        return err_set(&c->msg, ERR_NOMEM, "costs: out of memory");
    return text_write_file(c->option[OPT_OUT], line, strlen(line), &c->msg);
}

/* ---- commands ---- */

/* Links that the options state; between nodes as inside where not stated. */
enum err fit_read_links(struct cmd *c, struct cost *cost)
{
    static const double GBIT = 1e9 / 8; // bytes
    double us[2] = {cost->latency_s * 1e6, 0};
    double gbps[2] = {cost->bytes_per_s / GBIT, 0};
    enum err e = cmd_double(c, OPT_LATENCY, 0, 1e9, &us[0]);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_BANDWIDTH, 1e-6, 1e9, &gbps[0]);
    us[1] = us[0];
    gbps[1] = gbps[0];
    if (e == ERR_OK)
        e = cmd_double(c, OPT_BETWEEN_LATENCY, 0, 1e9, &us[1]);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_BETWEEN_BANDWIDTH, 1e-6, 1e9, &gbps[1]);
    if (e != ERR_OK)
        return e;
    cost->latency_s = us[0] * 1e-6;
    cost->bytes_per_s = gbps[0] * GBIT;
    cost->parted = cmd_given(c, OPT_BETWEEN_LATENCY) ||
                   cmd_given(c, OPT_BETWEEN_BANDWIDTH);
    if (cost->parted)
        cost->between = (struct cost_link){us[1] * 1e-6, gbps[1] * GBIT};
    return ERR_OK;
}

/* Transfers from timers, unless --p2p-latency-us states them. */
static enum err fit_links(struct cmd *c, const struct plan_context *ctx,
                          const struct overhead_runs *all, struct fit *out)
{
    struct transfers t = {&out->cost, NULL};
    enum err e = fit_read_links(c, &out->cost);
    if (e == ERR_OK && !cmd_given(c, OPT_LATENCY))
        e = transfers_fit(&c->arena, ctx, all, &t, &c->msg);
    return e == ERR_OK ? fit_join_notes(&c->arena, t.note, &out->note, &c->msg)
                       : e;
}

/* What EP overlap saves: --ep-save wins over --overlap-run. */
static enum err fit_save(struct cmd *c, const struct plan_context *ctx,
                         const struct fit_run *run, struct fit *out)
{
    enum err e = ERR_OK;
    if (run && !cmd_given(c, OPT_EP_SAVE))
        e = ep_save_fit(ctx, run, &out->cost, &c->msg);
    if (e == ERR_OK && run && !cmd_given(c, OPT_EP_SAVE))
        e = fit_join_notes(&c->arena,
                           "one step tells one number of EP overlap: a pair "
                           "with one MoE layer is taken to save half of a "
                           "pair of two",
                           &out->note, &c->msg);
    return e == ERR_OK ? cmd_ep_save(c, &out->cost.ep_save) : e;
}

/* Units first, then what needs them: transfers, with which the overhead is
 * what is left of a step, and last what overlap saves of a whole step. */
static enum err cmd_fit_fit(struct cmd *c, const struct model *m,
                            const struct plan_settings *set,
                            const struct fit_cmd_runs *runs, struct fit *out)
{
    const struct overhead_runs all = {runs->profile, runs->n};
    struct model split = *m; // as the first run split it
    split.par.vpp = runs->profile[0].layout.vpp;
    const struct order order = order_of_model(&split);
    struct schedule schedule;
    enum err e =
        fit_costs(&c->arena, &(struct fit_input){m, runs->profile, runs->n},
                  out, &c->msg);
    if (e == ERR_OK)
        e = schedule_outline(&order, plan_settings_mode(set, &split), &schedule,
                             &c->msg);
    if (e != ERR_OK)
        return e;
    // each run is simulated with the order of its own chunks: run_view
    struct plan_context ctx = {.model = m,
                               .cost = &out->cost,
                               .n_mb = schedule.n_mb,
                               .schedule = &schedule};
    plan_settings_apply(set, &split, &ctx);
    overhead_jitter(&c->arena, &ctx, &all, &out->cost);
    e = fit_links(c, &ctx, &all, out);
    if (e == ERR_OK)
        e = overhead_fit(&c->arena, &ctx, &all, &out->cost, &c->msg);
    return e == ERR_OK ? fit_save(c, &ctx, runs->overlap, out) : e;
}

/* Memory lines correct the memory model; without a prediction to correct, or
 * without lines, nothing is fitted. That of moe-train is of one chunk a rank.
 */
static enum err fit_memory(struct cmd *c, const struct memory_fit_input *in,
                           struct cost *cost, struct memory_fit *out)
{
    *out = (struct memory_fit){.n_rows = 0};
    const bool ours = cost->rules.trainer == TRAINER_MOE_TRAIN;
    if (!ours && memory_refusal(in->model))
        return ERR_OK;
    for (int i = 0; i < in->n_runs && ours; i++)
        if (in->runs[i].layout.vpp > 1)
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

/* The model and what a fit needs of it. Profile runs are without EP overlap,
 * whatever the flags of the model's source say. */
static enum err fit_model(struct cmd *c, struct cmd_model *m)
{
    enum err e = cmd_model(c, m);
    if (e == ERR_OK && c->n_runs == 0 && !fit_steps_given(c))
        e = err_set(&c->msg, ERR_PARSE,
                    "fit: want --run LAYOUT=LOG, or --step LAYOUT=MS, twice; "
                    "'moe-layout profile-layouts' names the runs to make");
    if (e == ERR_OK && !m->batch_given)
        e = err_set(&c->msg, ERR_PARSE,
                    "fit: --gbs: missing: timers are sums over the "
                    "micro-batches");
    if (c->n_runs > 0)
        m->model.overlap_moe_comm = false;
    return e;
}

/* The warning of a misfit goes to the terminal in both forms. */
static enum err fit_print(struct cmd *c, const struct fit *f,
                          const struct memory_fit *memory,
                          const struct fit_run *runs)
{
    warn_of_misfit(f);
    if (cmd_given(c, OPT_JSON)) {
        struct writer_doc doc;
        struct writer top = writer_open(&doc);
        cmd_fit_write(top, f);
        cmd_fit_write_memory(top, memory);
        cmd_write_account(c, top);
        return writer_print(&doc, true, stdout, &c->msg);
    }
    cmd_fit_print_fit(f, runs);
    cmd_fit_print_memory(memory, runs);
    return ERR_OK;
}

/* Of runs, of steps, or of both: a fit of steps takes timers' costs for what
 * they say of one group. */
static enum err run_fit(struct cmd *c)
{
    struct cmd_model m;
    struct fit f;
    struct memory_fit memory;
    struct plan_settings set;
    struct fit_cmd_runs runs = {.n = 0};
    enum err e = fit_model(c, &m);
    if (e == ERR_OK)
        e = cmd_settings(c, &set);
    if (e == ERR_OK && c->n_runs == 0)
        return fit_steps_run(c, &m.model, &set, NULL);
    if (e == ERR_OK)
        e = read_runs(c, &m.model, &runs);
    if (e == ERR_OK)
        e = cmd_fit_fit(c, &m.model, &set, &runs, &f);
    if (e == ERR_OK && fit_steps_given(c))
        return fit_steps_run(c, &m.model, &set, &f.cost);
    if (e != ERR_OK)
        return e;
    const struct memory_fit_input in = {&m.model, runs.profile, runs.n,
                                        set.platform};
    e = fit_memory(c, &in, &f.cost, &memory);
    if (e == ERR_OK)
        e = fit_write_costs(c, &f.cost);
    return e == ERR_OK ? fit_print(c, &f, &memory, runs.profile) : e;
}

static const enum cmd_option fit_options[] = {OPT_RUN,
                                              OPT_HYBRID,
                                              OPT_STEP,
                                              OPT_STEP_PP,
                                              OPT_STEPS,
                                              OPT_RECOMPUTE,
                                              OPT_PP,
                                              OPT_GBS,
                                              OPT_MBS,
                                              OPT_SEQ,
                                              OPT_TP,
                                              OPT_CP,
                                              OPT_VPP,
                                              OPT_EP,
                                              OPT_ETP,
                                              OPT_WORLD,
                                              OPT_P2P,
                                              OPT_PLATFORM,
                                              OPT_NODE,
                                              OPT_LATENCY,
                                              OPT_BANDWIDTH,
                                              OPT_BETWEEN_LATENCY,
                                              OPT_BETWEEN_BANDWIDTH,
                                              OPT_OVERLAP_RUN,
                                              OPT_EP_SAVE,
                                              OPT_OUT,
                                              OPT_JSON,
                                              OPT_HELP,
                                              N_OPTIONS};
const struct command CMD_FIT = {
    .name = "fit",
    .run = run_fit,
    .synopsis = "fit MODEL --pp N --gbs B --run \"[LAYOUT=]LOG\"... | --step "
                "\"LAYOUT=MS\"... [-o costs.json]",
    .summary = "costs of the units, from logs of such runs or from step times",
    .help =
        "Seconds forward and backward a micro-batch of every unit kind, from "
        "the per-rank forward-compute\nand backward-compute timers of short "
        "runs (--timing-log-level 2 --timing-log-option all); transfers "
        "from their exchange timers.\nA log with Megatron's list of arguments "
        "tells its layout itself.\nTimers of several chunks a rank are "
        "sums. A run with EP overlap has no usable timers: its step\ntime "
        "gives what the overlap saves (--overlap-run, VPP > 1 or PP 1).\n"
        "A hybrid model's layouts are patterns: cuts inside its layers, and "
        "stages of other mixtures of symbols,\ntell these apart; what the "
        "steps do not tell is tied to the FLOPs and named.\n"
        "Example: "
        "moe-layout fit model.json --pp 4 --gbs 64 --run 'Et*4|t*6|t*5|tmL=a."
        "log' \\\n    --run 'Et*5|t*6|t*5m|L=b.log' -o costs.json",
    .options = fit_options,
    .takes_model = true,
};
