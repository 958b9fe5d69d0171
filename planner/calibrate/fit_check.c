/*
 * How it works: the model that the log's dump of arguments describes is read
 * like any other source and its facts are compared with the command's; then
 * the layout, the iterations and the timers are looked at.
 */
#include "fit_check.h"

#include "base/text.h"
#include "judge/logged.h"
#include "layout/default_split.h"
#include "layout/symbols.h"
#include "log/runlog.h"
#include "megatron/args.h"
#include "source/log.h"

#include <string.h>

/* What every check takes. */
struct checker {
    struct arena *arena;
    const struct model *model;
    const struct fit_run *run;
    struct err_msg *msg;
};

/* ---- the same model ---- */

/* Option of moe-layout that sets the fact; NULL: it is the model's. */
static const char *option_of(const char *key)
{
    static const struct {
        const char *key, *option;
    } all[] = {{"tensor_model_parallel_size", "--tp"},
               {"context_parallel_size", "--cp"},
               {"expert_model_parallel_size", "--ep"},
               {"expert_tensor_parallel_size", "--etp"},
               {"micro_batch_size", "--mbs"},
               {"seq_length", "--seq"},
               {"data_parallel_size", "--world"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].key, key) == 0)
            return all[i].option;
    return NULL;
}

/* Says which of the two is to be changed: an option, or the model named. */
static enum err fit_check_differs(const struct checker *c, const char *key,
                                  int64_t log, int64_t model)
{
    const char *option = option_of(key);
    return err_set(
        c->msg, ERR_PARSE, "log of '%s': %s is %lld, the %s %lld: %s%s",
        c->run->layout_text, key, (long long)log,
        option ? "command says" : "model has", (long long)model,
        option ? "give the run's value with " : "name the model that was run",
        option ? option : "");
}

/* Recompute and precision are compared where the dump has the argument that
 * states them: moe-train's and other programs' dumps leave them out. */
static bool is_stated(const struct checker *c, const char *key)
{
    static const struct {
        const char *start, *argument;
    } all[] = {{"recompute_", "recompute_granularity"},
               {"param_bytes", "bf16"},
               {"grad_bytes", "bf16"},
               {"fp8", "fp8"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (text_starts(key, all[i].start))
            return runlog_argument(c->run->log, all[i].argument) != NULL;
    return true;
}

/* A dump that holds the whole model: compares what the two models are. */
static enum err compare_models(const struct checker *c, const struct model *run)
{
    struct model_fact ours[MODEL_N_FACTS], theirs[MODEL_N_FACTS];
    int n = model_facts(c->model, ours), n_run = model_facts(run, theirs);
    for (int i = 0; i < n && i < n_run; i++)
        if (ours[i].value != theirs[i].value && is_stated(c, ours[i].key))
            return fit_check_differs(c, ours[i].key, theirs[i].value,
                                     ours[i].value);
    if (n != n_run)
        return fit_check_differs(c, "multi_latent_attention", run->mla,
                                 c->model->mla);
    for (int i = 0; i < run->n_layers; i++)
        if (model_layer_kind(run, i) != model_layer_kind(c->model, i))
            return err_set(c->msg, ERR_PARSE,
                           "log of '%s': moe_layer_freq: layer %d is of "
                           "another kind than in the model",
                           c->run->layout_text, i);
    return ERR_OK;
}

/* A dump that holds only some of it: compares those that are there. */
static enum err compare_arguments(const struct checker *c)
{
    struct model_fact facts[MODEL_N_FACTS];
    int n = model_facts(c->model, facts);
    for (int i = 0; i < n; i++) {
        const char *text = runlog_argument(c->run->log, facts[i].key);
        int64_t v;
        // a fact of 0 has no effect, whatever its argument says
        if (text && facts[i].value && text_to_int64(text, &v) &&
            v != facts[i].value)
            return fit_check_differs(c, facts[i].key, v, facts[i].value);
    }
    return ERR_OK;
}

/* A log's arguments make a model again, which is compared as one; where they do
 * not suffice for it they are compared one by one. */
static enum err fit_check_check_model(const struct checker *c)
{
    struct model run;
    struct megatron_args *args = megatron_args_new(c->arena);
    if (!args)
        return err_set(c->msg, ERR_NOMEM, "fit: out of memory");
    if (c->run->log->n_arguments == 0)
        return ERR_OK;
    enum err e = source_log_read(c->run->log, "log", args, NULL);
    if (e == ERR_OK)
        e = megatron_args_model(c->arena, args, &run, NULL);
    e = e == ERR_OK ? compare_models(c, &run) : compare_arguments(c);
    const char *text = runlog_argument(c->run->log, "global_batch_size");
    int64_t batch;
    if (e == ERR_OK && text && text_to_int64(text, &batch) &&
        batch != c->model->batch.global_batch)
        return err_set(c->msg, ERR_PARSE,
                       "log of '%s': global_batch_size is %lld, the command "
                       "says %lld: give --gbs %lld",
                       c->run->layout_text, (long long)batch,
                       (long long)c->model->batch.global_batch,
                       (long long)batch);
    return e;
}

/* ---- the same layout ---- */

/* By what each stage holds: one layout has many spellings. */
static bool same_layout(const struct layout *a, const struct layout *b)
{
    if (a->n_stages != b->n_stages)
        return false;
    for (int s = 0; s < a->n_stages; s++)
        if (strcmp(a->units[s], b->units[s]) != 0)
            return false;
    return true;
}

/* An argument of the dump that was given; NULL where it was not. */
static const char *given_argument(const struct runlog *log, const char *key)
{
    const char *text = runlog_argument(log, key);
    return text && strcmp(text, "None") != 0 ? text : NULL;
}

/* Megatron's default split of the run's chunks; NULL where others decide. */
static const char *command_default(const struct checker *c, struct layout *l)
{
    static const char *const other[] = {"decoder_first_pipeline_num_layers",
                                        "decoder_last_pipeline_num_layers"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (given_argument(c->run->log, other[i]))
            return NULL;
    struct model m = *c->model; // with the chunks of the layout named
    // a pattern without bars has one
    m.par.vpp = model_is_hybrid(&m) ? 1 : c->run->layout.vpp;
    if (default_split_layout(c->arena, &m, c->run->layout.pp, l, NULL) !=
        ERR_OK)
        return NULL;
    return "Megatron's default split";
}

/* By the list's own flags, and what other programs list of them, by the
 * command's; NULL where others decide. */
static const char *logged_default(const struct checker *c, struct layout *l)
{
    struct logged_split own;
    const struct core_version *core = NULL;
    core_version_find(NULL, &core, NULL);
    if (logged_split(c->arena, c->run->log, core, &own, NULL) != ERR_OK)
        return NULL;
    if (own.known) {
        *l = own.layout;
        return layout_string(c->arena, l);
    }
    return logged_tells_split(c->run->log) ? NULL : command_default(c, l);
}

/* The stages of a hybrid model stand in its pattern. */
static const char *logged_pattern(const struct checker *c, struct layout *l)
{
    const char *text = given_argument(c->run->log, "hybrid_layer_pattern");
    struct model m = *c->model;
    m.par.pp = c->run->layout.pp;
    if (!text)
        return NULL;
    if (!strchr(text, '|'))
        return logged_default(c, l);
    return symbols_read(c->arena, text, &m, l, NULL) == ERR_OK ? text : NULL;
}

/* The layout that the log says was run: its argument, or Megatron's default
 * split where the dump has pipeline sizes but no layout. NULL: not said. */
static const char *run_layout(const struct checker *c, struct layout *l)
{
    const struct runlog *log = c->run->log;
    const char *text = runlog_argument(log, "pipeline_model_parallel_layout");
    if (model_is_hybrid(c->model))
        return logged_pattern(c, l);
    if (!text || !runlog_argument(log, "num_layers"))
        return NULL;
    if (strcmp(text, "None") == 0)
        return logged_default(c, l);
    return layout_parse(c->arena, text, c->run->layout.pp, l, NULL) == LAYOUT_OK
               ? text
               : NULL;
}

static enum err check_layout(const struct checker *c)
{
    struct layout l;
    const char *text = run_layout(c, &l);
    if (!text || same_layout(&l, &c->run->layout))
        return ERR_OK;
    return err_set(c->msg, ERR_PARSE,
                   "log of '%s': the run was made with '%s': name that layout, "
                   "or the log of this one",
                   c->run->layout_text, text);
}

/* ---- iterations and timers ---- */

/* A log of warm-up only has a reason for each iteration; the last one is told.
 */
static enum err check_iterations(const struct checker *c)
{
    const struct runlog *log = c->run->log;
    const char *why = NULL;
    for (size_t i = 0; i < log->n_iterations; i++) {
        if (log->iterations[i].usable)
            return ERR_OK;
        if (log->iterations[i].dropped)
            why = log->iterations[i].dropped;
    }
    if (log->n_iterations == 0)
        return err_set(c->msg, ERR_PARSE,
                       "log of '%s': no iteration line: was the run cut short?",
                       c->run->layout_text);
    return err_set(c->msg, ERR_PARSE,
                   "log of '%s': %zu iterations and none is usable%s%s%s: run "
                   "20 iterations or more",
                   c->run->layout_text, log->n_iterations, why ? " (" : "",
                   why ? why : "", why ? ")" : "");
}

/* In which forms a timer is there, among the iterations that count. */
struct timer_kinds {
    bool per_rank, extremes;
};

static struct timer_kinds find_timer(const struct runlog *log, const char *name)
{
    struct timer_kinds found = {false, false};
    const struct log_timer *t;
    for (size_t at = 0; (t = runlog_next_timer(log, name, &at)) != NULL;) {
        found.per_rank = found.per_rank || t->per_rank;
        found.extremes = found.extremes || !t->per_rank;
    }
    return found;
}

static const char *fit_check_overlap_said(const struct runlog *log)
{
    return runlog_argument(log, "overlap_moe_expert_parallel_comm");
}

static bool fit_check_has(const struct runlog *log, const char *name)
{
    const struct timer_kinds found = find_timer(log, name);
    return found.per_rank || found.extremes;
}

/* Megatron prints a forward timer alone there. moe-train, whose log names its
 * clock, says so and has the timers of either. */
bool fit_check_is_overlapped(const struct fit_run *run)
{
    const struct runlog *log = run->log;
    const char *said = fit_check_overlap_said(log);
    const bool forward_only = fit_check_has(log, RUNLOG_FORWARD) &&
                              !fit_check_has(log, RUNLOG_BACKWARD);
    if (!said && !log->clock)
        return forward_only;
    return said && strcmp(said, "True") == 0 && (forward_only || !log->clock);
}

/* Five ways in which a timer may be missing, each with what mends it. */
static enum err check_timer(const struct checker *c, const char *name)
{
    struct timer_kinds found = find_timer(c->run->log, name);
    const char *layout = c->run->layout_text;
    if (found.per_rank || (found.extremes && c->model->par.world == 1))
        return ERR_OK;
    if (found.extremes)
        return err_set(c->msg, ERR_PARSE,
                       "log of '%s': timer '%s' has only its extremes over %d "
                       "ranks, which do not tell the stages apart: add "
                       "--timing-log-option all",
                       layout, name, c->model->par.world);
    if (c->run->log->n_timers == 0)
        return err_set(c->msg, ERR_PARSE,
                       "log of '%s': no per-rank '%s' timers: run with "
                       "--timing-log-level 2 --timing-log-option all; from "
                       "core 0.16 they go through the logger: also add "
                       "--logging-level 20",
                       layout, name);
    if (strcmp(name, RUNLOG_BACKWARD) == 0 && fit_check_is_overlapped(c->run))
        return err_set(c->msg, ERR_PARSE,
                       "log of '%s': no 'backward-compute' timer, because "
                       "--overlap-moe-expert-parallel-comm leaves it out: "
                       "profile without that flag",
                       layout);
    return err_set(c->msg, ERR_PARSE,
                   "log of '%s': no '%s' timer among its timers: run with "
                   "--timing-log-level 2 --timing-log-option all",
                   layout, name);
}

static enum err check_run(const struct checker *c)
{
    enum err e = fit_check_check_model(c);
    if (e == ERR_OK)
        e = check_layout(c);
    if (e == ERR_OK)
        e = check_iterations(c);
    if (e == ERR_OK)
        e = check_timer(c, RUNLOG_FORWARD);
    return e == ERR_OK ? check_timer(c, RUNLOG_BACKWARD) : e;
}

/* ---- runs among themselves ---- */

/* Arguments that change times although they are no part of a model's size. */
static enum err check_pair(const struct fit_run *x, const struct fit_run *y,
                           struct err_msg *msg)
{
    static const char *const keys[] = {"num_layers",
                                       "hidden_size",
                                       "num_experts",
                                       "moe_router_topk",
                                       "recompute_granularity",
                                       "sequence_parallel",
                                       "bf16",
                                       "fp8",
                                       "fp8_format",
                                       "moe_token_dispatcher_type",
                                       "moe_grouped_gemm",
                                       "attention_backend",
                                       "transformer_impl"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *a = runlog_argument(x->log, keys[i]);
        const char *b = runlog_argument(y->log, keys[i]);
        if (a && b && strcmp(a, b) != 0)
            return err_set(msg, ERR_PARSE,
                           "logs of '%s' and '%s': %s is %s and %s: profile "
                           "both with the same flags",
                           x->layout_text, y->layout_text, keys[i], a, b);
    }
    if ((x->log->clock == NULL) != (y->log->clock == NULL) ||
        (x->log->clock && strcmp(x->log->clock, y->log->clock) != 0))
        return err_set(msg, ERR_PARSE,
                       "logs of '%s' and '%s': clocks '%s' and '%s': profile "
                       "both with the same trainer and clock",
                       x->layout_text, y->layout_text,
                       x->log->clock ? x->log->clock : "wall of Megatron",
                       y->log->clock ? y->log->clock : "wall of Megatron");
    return ERR_OK;
}

enum err fit_check_step_run(struct arena *a, const struct model *m,
                            const struct fit_run *run, struct err_msg *msg)
{
    const struct checker c = {a, m, run, msg};
    enum err e = fit_check_check_model(&c);
    if (e == ERR_OK)
        e = check_layout(&c);
    return e == ERR_OK ? check_iterations(&c) : e;
}

enum err fit_check_overlap_run(struct arena *a, const struct model *m,
                               const struct fit_run *run,
                               const struct fit_run *like, struct err_msg *msg)
{
    const char *said = fit_check_overlap_said(run->log);
    if (said && strcmp(said, "True") != 0)
        return err_set(msg, ERR_PARSE,
                       "log of '%s': overlap_moe_expert_parallel_comm is %s: "
                       "--overlap-run wants a run with it",
                       run->layout_text, said);
    const enum err e = fit_check_step_run(a, m, run, msg);
    return e == ERR_OK ? check_pair(like, run, msg) : e;
}

enum err fit_check_same(struct arena *a, const struct model *m,
                        const struct fit_run *run, struct err_msg *msg)
{
    const struct checker c = {a, m, run, msg};
    enum err e = fit_check_check_model(&c);
    return e == ERR_OK ? check_layout(&c) : e;
}

/* Each by itself, and all against the first: what is equal in pairs with one is
 * equal in all. */
enum err fit_check(struct arena *a, const struct model *m,
                   const struct fit_run *runs, int n_runs, struct err_msg *msg)
{
    for (int i = 0; i < n_runs; i++) {
        const struct checker c = {a, m, &runs[i], msg};
        enum err e = check_run(&c);
        if (e == ERR_OK && i > 0)
            e = check_pair(&runs[0], &runs[i], msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
