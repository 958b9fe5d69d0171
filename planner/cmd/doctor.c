/*
 * moe-layout doctor: one log, what is wrong with its run, and which layout
 * would be faster.
 *
 * How it works: the log is read first and everything it says by itself is kept.
 * Then its model is looked for (a script, the log's own dump, flags); whatever
 * is missing for a layout is one reason in d->out.why, which later steps leave
 * alone. With nothing missing the run is priced and layouts are searched.
 */
#include "base/file.h"
#include "cmd.h"
#include "doctor/doubts.h"
#include "doctor/page.h"
#include "judge/judge.h"
#include "judge/logged.h"

#include "calibrate/fit_check.h"
#include "calibrate/profile.h"
#include "log/runlog.h"
#include "megatron/args.h"
#include "megatron/hybrid.h"
#include "source/log.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const double DOCTOR_GIB = 1024.0 * 1024 * 1024;

/* A run of the command. Not to be copied: what was found points into it. */
struct doctor_run {
    struct cmd *cmd;
    struct plan_settings set;
    const struct card *card; // --gpu, or NULL
    double peak_flops;       // --peak-tflops, or 0
    double hbm_bytes;        // --hbm-gb, or 0
    struct cmd_model m;
    bool has_script; // beside the log
    bool has_model;  // of a script, the log's dump or flags
    struct judge_verdict verdict;
    struct doctor out; // what is printed
};

static enum err doctor_no_memory(struct cmd *c)
{
    return err_set(&c->msg, ERR_NOMEM, "doctor: out of memory");
}

/* The first reason stands. */
static void doctor_lacks(struct doctor_run *d, const char *why)
{
    if (!d->out.why)
        d->out.why = why ? why : "out of memory";
}

/* What reading the model said is the answer, not an error of the command. */
static enum err doctor_take(struct doctor_run *d, enum err e)
{
    struct cmd *c = d->cmd;
    if (e == ERR_OK || e == ERR_NOMEM || e == ERR_IO)
        return e;
    doctor_lacks(d, arena_strdup(&c->arena, c->msg.text));
    c->msg.text[0] = '\0';
    return ERR_OK;
}

/* ---- the line ---- */

/* SCRIPT LOG, which only one of the two is: what was said of the first stands
 * where the second is none, either. */
static enum err doctor_swap(struct doctor_run *d, enum err said)
{
    struct cmd *c = d->cmd;
    struct err_msg ignored;
    const char *first = c->args[0];
    const enum err e =
        logparse_read(&c->arena, c->args[1], &d->out.log, &ignored);
    if (e != ERR_OK)
        return e == ERR_NOMEM ? e : said;
    c->args[0] = c->args[1];
    c->args[1] = first;
    d->out.path = c->args[0];
    c->msg.text[0] = '\0';
    return ERR_OK;
}

/* Leaves one operand for the model's source: the script, else the log itself,
 * or none where flags have to do for a log without a dump. */
static enum err doctor_operands(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    if (c->n_args == 0)
        return err_set(&c->msg, ERR_PARSE,
                       "doctor: LOG missing: name the log of a run, and its "
                       "launch script if the log has no dump of arguments");
    d->out.path = c->args[0];
    if (c->n_args == 2 && access(c->args[1], R_OK) != 0)
        return err_set(&c->msg, ERR_PARSE, "doctor: %s: cannot be read",
                       c->args[1]);
    const enum err e =
        logparse_read(&c->arena, d->out.path, &d->out.log, &c->msg);
    return e == ERR_PARSE && c->n_args == 2 ? doctor_swap(d, e) : e;
}

static void doctor_source(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    d->has_script = c->n_args == 2;
    if (d->has_script)
        c->args[0] = c->args[1];
    c->n_args =
        c->n_args == 1 && c->has_flags && !d->out.log.n_arguments ? 0 : 1;
}

/* A card that is not in the table has a peak all the same. */
static enum err doctor_card(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    struct err_msg said;
    if (!cmd_given(c, OPT_GPU))
        return ERR_OK;
    const enum err e =
        card_find(c->option[OPT_GPU], "doctor: --gpu", &d->card, &said);
    return e == ERR_OK ? e
                       : err_set(&c->msg, e,
                                 "%s; another card: its peak by "
                                 "--peak-tflops in place of --gpu",
                                 said.text);
}

/* The user's figures; what is not given is looked for in the log and by the
 * card's name. */
static enum err doctor_options(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    double tflops = 0, gib = 0;
    enum err e = cmd_settings(c, &d->set);
    if (e == ERR_OK)
        e = doctor_card(d);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_PEAK, 1e-6, 1e9, &tflops);
    if (e == ERR_OK)
        e = cmd_double(c, OPT_HBM, 1e-3, 1e6, &gib);
    d->peak_flops = tflops * 1e12;
    d->hbm_bytes = gib * DOCTOR_GIB;
    return e;
}

/* ---- the model ---- */

static bool doctor_unstated(const struct megatron_flags *f, enum flag_id id)
{
    return !flags_given(f, id) || flags_unknown(f, id);
}

/* Beside a script the log's own list tells what the script does not state, and
 * the split that ran: scripts are edited. */
static enum err doctor_join(struct doctor_run *d, struct megatron_flags *f)
{
    struct megatron_args *own = megatron_args_new(&d->cmd->arena);
    if (!own)
        return doctor_no_memory(d->cmd);
    if (!d->has_script ||
        source_log_read(&d->out.log, "log", own, NULL) != ERR_OK)
        return ERR_OK;
    logged_join(&d->out.log, megatron_args_flags(own), f);
    return ERR_OK;
}

/* Iteration lines state the batch, and timers list the ranks. A --pp for a
 * source that states none is the source's: its layout goes with it. */
static enum err doctor_fill(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    struct megatron_args *args;
    int64_t pp = 0;
    enum err e = cmd_source(c, &args);
    if (e == ERR_OK)
        e = cmd_int(c, OPT_PP, 1, ORDER_MAX_RANKS, &pp);
    if (e != ERR_OK)
        return e;
    struct megatron_flags *f = megatron_args_flags(c->source);
    e = doctor_join(d, f);
    if (doctor_unstated(f, FLAG_PP) && pp)
        flags_set_int(f, FLAG_PP, pp);
    if (doctor_unstated(f, FLAG_GLOBAL_BATCH_SIZE) && d->out.steps.global_batch)
        flags_set_int(f, FLAG_GLOBAL_BATCH_SIZE, d->out.steps.global_batch);
    if (doctor_unstated(f, FLAG_WORLD_SIZE) && d->out.steps.n_ranks > 1)
        flags_set_int(f, FLAG_WORLD_SIZE, d->out.steps.n_ranks);
    return e;
}

/* All flags of a run; else a size that is not stated is not known. */
static bool doctor_is_launch(const struct doctor_run *d)
{
    const char *from = megatron_args_account(d->cmd->opened)->source;
    return strcmp(from, "script") == 0 || strcmp(from, "yaml") == 0;
}

/* A launch without such a flag has Megatron's default split, and so has a dump
 * with a pipeline size; a model alone tells nothing of it. */
static bool doctor_states_split(const struct doctor_run *d)
{
    const struct megatron_flags *f = megatron_args_flags(d->cmd->opened);
    const char *from = megatron_args_account(d->cmd->opened)->source;
    if (doctor_is_launch(d) || strcmp(from, "log") == 0 ||
        hybrid_flag(f) != FLAG_NONE)
        return true;
    for (int i = 0; i < N_FLAGS; i++)
        if (judge_flag_splits((enum flag_id)i) &&
            flags_given(f, (enum flag_id)i))
            return true;
    return false;
}

/* A default that nobody stated would be a number of another run. */
static void doctor_ask_sizes(struct doctor_run *d)
{
    const struct megatron_flags *f = megatron_args_flags(d->cmd->opened);
    if (!flags_given(f, FLAG_PP) && !doctor_is_launch(d))
        doctor_lacks(d, "the pipeline size is not stated: give --pp N, or the "
                        "launch script");
    if (flags_given(megatron_args_flags(d->cmd->source), FLAG_LAYOUT) &&
        !flags_given(f, FLAG_LAYOUT))
        doctor_lacks(d, "--pp or --vpp say another split than the layout that "
                        "the source states: leave them out, or name the layout "
                        "that ran behind '--'");
    if (!doctor_states_split(d))
        doctor_lacks(d, "the run's own layout is not stated: name the launch "
                        "script, or give '-- --pipeline-model-parallel-layout "
                        "LAYOUT'");
    if (!flags_given(f, FLAG_WORLD_SIZE))
        doctor_lacks(d, "the number of ranks is not known: give --world N");
    if (flags_given(f, FLAG_DP_LAST) && d->m.model.par.dp > 1)
        doctor_lacks(d, "with --use-tp-pp-dp-mapping it is not read here which "
                        "ranks are of one stage");
    if (!d->m.batch_given)
        doctor_lacks(d, "the global batch is not known: give --gbs B");
    if (!d->m.seq_given)
        doctor_lacks(d, "the length of a sequence is not known: give --seq N");
}

/* Sizes that the log's own lines contradict: the script is of another run. */
static void doctor_compare_sizes(struct doctor_run *d)
{
    struct arena *a = &d->cmd->arena;
    const struct model *m = &d->m.model;
    if (d->out.why)
        return;
    if (d->out.steps.global_batch &&
        d->out.steps.global_batch != m->batch.global_batch)
        doctor_lacks(
            d, arena_printf(a,
                            "%s says a global batch of %lld, the log %lld: "
                            "they are not of the same run",
                            d->m.name, (long long)m->batch.global_batch,
                            (long long)d->out.steps.global_batch));
    if (d->out.steps.n_ranks > 1 && d->out.steps.n_ranks != m->par.world)
        doctor_lacks(d,
                     arena_printf(a,
                                  "%s says %d ranks, the log's timers list "
                                  "%d: give --world %d if that is right",
                                  d->m.name, m->par.world, d->out.steps.n_ranks,
                                  d->out.steps.n_ranks));
}

/* MODEL with its sizes, as other commands take them. */
static const char *doctor_command(const struct doctor_run *d)
{
    static const enum cmd_option given[] = {OPT_VPP, OPT_TP,  OPT_CP, OPT_EP,
                                            OPT_ETP, OPT_MBS, OPT_SEQ};
    struct cmd *c = d->cmd;
    const struct model *m = &d->m.model;
    const bool flags = strcmp(d->m.name, "flags") == 0;
    const char *text =
        arena_printf(&c->arena, "%s --pp %d --world %d --gbs %lld",
                     flags ? "MODEL" : d->m.name, m->par.pp, m->par.world,
                     (long long)m->batch.global_batch);
    for (size_t i = 0; i < sizeof given / sizeof given[0] && text; i++)
        if (cmd_given(c, given[i]))
            text =
                arena_printf(&c->arena, "%s %s %s", text,
                             c->spec.rows[given[i]].name, c->option[given[i]]);
    return text;
}

/* A log without a model is no error: steps, rates as printed and failures need
 * none. */
static enum err doctor_model(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    if (c->n_args == 1 && !c->has_flags && !d->out.log.n_arguments) {
        doctor_lacks(d, "the log has no dump of arguments, so that the model "
                        "and the layout are not known: name the launch script "
                        "behind it, or give Megatron's flags after '--'");
        return ERR_OK;
    }
    // not a plain file: what was read of it is gone
    if (c->n_args == 1 && d->out.log.n_arguments &&
        !file_is_same(d->out.path, d->out.path)) {
        doctor_lacks(d, "the log came through a pipe, which is read once, so "
                        "that its dump of arguments was not: give it as a "
                        "file, or name the launch script behind it");
        return ERR_OK;
    }
    doctor_source(d);
    enum err e = doctor_fill(d);
    if (e == ERR_OK)
        e = cmd_model(c, &d->m);
    d->has_model = e == ERR_OK;
    e = doctor_take(d, e);
    if (!d->has_model || e != ERR_OK)
        return e;
    d->out.model = &d->m.model;
    d->out.command = doctor_command(d);
    if (!d->out.command)
        return doctor_no_memory(c);
    doctor_ask_sizes(d);
    doctor_compare_sizes(d);
    return ERR_OK;
}

/* ---- what Megatron says of the flags ---- */

/* Flags of a split, which Megatron takes none of beside a layout. */
static const char *doctor_drop(struct doctor_run *d)
{
    const struct megatron_flags *f = megatron_args_flags(d->cmd->opened);
    const char *text = "";
    for (int i = 0; i < N_FLAGS && text; i++) {
        const enum flag_id id = (enum flag_id)i;
        if (id != FLAG_LAYOUT && judge_flag_splits(id) && flags_given(f, id))
            text = arena_printf(&d->cmd->arena, "%s%s--%s", text,
                                *text ? ", " : "", flag_name(id));
    }
    return text ? text : "";
}

/* Of flags that Megatron refuses no layout can be advised, although a log says
 * they ran: they are not what ran. */
static enum err doctor_judge(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    if (judge_is_hybrid(megatron_args_flags(c->opened)) &&
        !cmd_given(c, OPT_CORE))
        d->set.core = core_version_of_patterns();
    const struct judge_question q = {megatron_args_flags(c->opened),
                                     d->set.core, doctor_is_launch(d)};
    struct judge_verdict *v = &d->verdict;
    const enum err e = judge(&c->arena, &q, v, &c->msg);
    if (e != ERR_OK)
        return doctor_take(d, e);
    for (const struct judge_refusal *r = v->refusals; r; r = r->next)
        findings_add(&d->out.findings, FINDING_WRONG, "refused",
                     "core %s refuses these flags: %s", d->set.core->name,
                     r->text);
    if (!v->valid)
        doctor_lacks(d, "Megatron refuses the flags as they were read: mend "
                        "them, or name the version that ran with --core");
    if (!v->has_layout)
        doctor_lacks(d, "the run's own layout is not known");
    d->out.drop = doctor_drop(d);
    if (!v->has_layout)
        return ERR_OK;
    d->out.layout = layout_text(&c->arena, &v->layout, &d->m.model);
    d->out.run = (struct fit_run){.layout_text = d->out.layout,
                                  .layout = v->layout,
                                  .log = &d->out.log,
                                  .speed = 1};
    return d->out.layout ? ERR_OK : doctor_no_memory(c);
}

/* ---- timers ---- */

/* This run's timers first. Timers that do not fit the layout still tell slow
 * ranks. */
static enum err doctor_stages(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    enum err e = ERR_OK;
    if (!d->out.why && !fit_check_is_overlapped(&d->out.run)) {
        e = stages_of_timers(&c->arena, &d->m.model, &d->out.run,
                             &d->out.stages, &c->msg);
        d->out.timers = e == ERR_OK;
        if (e == ERR_NOMEM)
            return e;
        c->msg.text[0] = '\0';
    }
    if (!d->out.timers && d->out.why)
        e = stages_of_ranks(&c->arena, &d->out.log, d->out.steps.n_ranks,
                            &d->out.stages, &c->msg);
    if (e == ERR_NOMEM)
        return e;
    doubts_timers(&d->out);
    return ERR_OK;
}

/* ---- rates ---- */

static int64_t doctor_world(const struct doctor_run *d)
{
    const bool stated =
        d->has_model &&
        flags_given(megatron_args_flags(d->cmd->opened), FLAG_WORLD_SIZE);
    return stated ? d->m.model.par.world : d->out.steps.n_ranks;
}

/* Without a model the length of a sequence may still be stated. */
static int64_t doctor_seq(const struct doctor_run *d)
{
    if (d->has_model)
        return d->m.seq_given ? d->m.model.batch.seq_tokens : 0;
    return d->cmd->opened ? flags_int(megatron_args_flags(d->cmd->opened),
                                      FLAG_SEQ_LENGTH, 0)
                          : 0;
}

/* A batch that changes has no rate by our count. */
static void doctor_rate(struct doctor_run *d)
{
    const bool of_run =
        d->has_model && !findings_has(&d->out.findings, "batch-changes");
    const struct rate_question q = {
        .model = of_run ? &d->m.model : NULL,
        .step_s = d->out.steps.mean_s,
        .sequences = d->out.steps.global_batch ? d->out.steps.global_batch
                     : of_run && d->m.batch_given
                         ? d->m.model.batch.global_batch
                         : 0,
        .seq_tokens = doctor_seq(d),
        .world = doctor_world(d),
        .peak_flops = d->peak_flops,
        .card = d->card};
    rate_work_out(&q, &d->out.rate);
}

/* ---- the advice ---- */

/* A run that is not steady, or did other work, gives no step to plan by. */
static void doctor_ask_run(struct doctor_run *d)
{
    static const char *const bad[] = {"drift", "batch-changes", "nan-loss",
                                      "timers-beyond-step"};
    const struct model *m = &d->m.model;
    if (!d->out.steps.n_used)
        doctor_lacks(d, "the log has no step time that counts");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (findings_has(&d->out.findings, bad[i]))
            doctor_lacks(d, "the run's steps are no measure of a layout: see "
                            "what is wrong with it");
    if (d->out.log.failure == LOG_OOM && d->hbm_bytes <= 0)
        doctor_lacks(d, "the run ran out of memory, and what a rank has is not "
                        "known: give --hbm-gb, so that only layouts that fit "
                        "are looked at");
    if (!d->out.why && m->par.pp == 1)
        doctor_lacks(d, "one pipeline stage: there is no layout to choose");
    if (!d->out.why && fit_check_is_overlapped(&d->out.run))
        doctor_lacks(d, "one step with EP overlap does not tell what units "
                        "cost from what the overlap saves: profile without it");
    if (!d->out.why && m->overlap_moe_comm)
        doctor_lacks(d, "with EP overlap one log does not tell what a layout "
                        "saves: fit --overlap-run does, from more");
}

/* Everything that stands against advice ends in a reason that the page prints.
 */
static enum err doctor_advise(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    doctor_ask_run(d);
    if (!d->out.why)
        doctor_take(d, fit_check_step_run(&c->arena, &d->m.model, &d->out.run,
                                          &c->msg));
    if (d->out.why)
        return ERR_OK;
    const struct price_question q = {&d->m.model,   &d->out.run,
                                     &d->set,       d->card,
                                     d->out.timers, d->out.steps.half_s};
    enum err e = price_make(&c->arena, &q, &d->out.price, &c->msg);
    if (e != ERR_OK)
        return doctor_take(d, e);
    e = advice_make(&c->arena, &q, &d->out.price, d->hbm_bytes, &d->out.advice);
    if (e != ERR_OK)
        return doctor_no_memory(c);
    if (d->out.advice.verdict == ADVICE_NONE)
        doctor_lacks(d, d->out.advice.why);
    return d->out.timers
               ? ERR_OK
               : stages_of_costs(&c->arena, &d->out.price.ctx, &d->out.run,
                                 &d->out.stages, &c->msg);
}

/* The two runs that would tell more; none where units cannot be told apart. */
static enum err doctor_profiles(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    struct layout runs[DOCTOR_PROFILES];
    const struct model *m = &d->m.model;
    const struct profile_wish wish = {
        .pp = m->par.pp, .n = DOCTOR_PROFILES, .standalone = false};
    if (!d->out.layout || m->par.pp < 2)
        return ERR_OK;
    const enum err e = profile_layouts(&c->arena, m, &wish, runs, &c->msg);
    for (int i = 0; i < DOCTOR_PROFILES && e == ERR_OK; i++) {
        d->out.profile[i] = layout_text(&c->arena, &runs[i], m);
        if (!d->out.profile[i])
            return doctor_no_memory(c);
    }
    if (e != ERR_OK && e != ERR_NOMEM)
        c->msg.text[0] = '\0';
    return e == ERR_NOMEM ? e : ERR_OK;
}

static enum err doctor_print(struct doctor_run *d)
{
    struct cmd *c = d->cmd;
    struct writer_doc doc;
    if (!cmd_given(c, OPT_JSON)) {
        page_print(&d->out, stdout);
        return ERR_OK;
    }
    struct writer top = writer_open(&doc);
    page_write(&d->out, top);
    cmd_write_account(c, top);
    return writer_print(&doc, true, stdout, &c->msg);
}

/* In the order of what needs least: steps, model, verdict, stages, rate,
 * advice. An answer without advice is printed in full and ends with status 1.
 */
static enum err cmd_doctor_run(struct cmd *c)
{
    struct doctor_run d = {
        .cmd = c, .out = {.findings = {.arena = &c->arena}, .drop = ""}};
    enum err e = doctor_operands(&d);
    if (e == ERR_OK)
        e = doctor_options(&d);
    if (e != ERR_OK)
        return e;
    steps_read(&c->arena, &d.out.log, &d.out.steps, &d.out.findings);
    e = doctor_model(&d);
    if (e == ERR_OK && d.has_model)
        e = doctor_judge(&d);
    if (e == ERR_OK)
        e = doctor_stages(&d);
    if (e != ERR_OK)
        return e;
    doctor_rate(&d);
    doubts_rate(&d.out);
    doubts_bubble(&d.out);
    e = doctor_advise(&d);
    if (e == ERR_OK)
        e = doctor_profiles(&d);
    if (e == ERR_OK && d.out.findings.failed)
        e = doctor_no_memory(c);
    if (e == ERR_OK)
        e = doctor_print(&d);
    return e == ERR_OK && d.out.why ? ERR_MODEL : e;
}

static const enum cmd_option takes[] = {
    OPT_GPU,  OPT_PEAK, OPT_HBM,      OPT_PP,    OPT_VPP, OPT_TP,
    OPT_CP,   OPT_EP,   OPT_ETP,      OPT_WORLD, OPT_GBS, OPT_MBS,
    OPT_SEQ,  OPT_CORE, OPT_PLATFORM, OPT_NODE,  OPT_P2P, OPT_MARGIN,
    OPT_JSON, OPT_HELP, N_OPTIONS};

const struct command CMD_DOCTOR = {
    .name = "doctor",
    .run = cmd_doctor_run,
    .synopsis = "doctor LOG [SCRIPT] [--gpu NAME] [--hbm-gb G]",
    .summary = "from one log: what holds the run back, and the layout to paste",
    .help =
        "Says of one training log which stage holds the others back and by how "
        "much, which layout to\npaste instead with its predicted gain, an "
        "interval and what that is made of, whether it fits,\nwhat else is "
        "wrong with the run, and which two short runs would make it surer. The "
        "model is\nthat of SCRIPT (any MODEL), of the log's dump of arguments, "
        "or of flags after '--'; units are\npriced by the log's per-rank "
        "timers, or by FLOPs scaled to the step where it has none.\nThe step "
        "is also given as tokens/s, TFLOP/s and MFU a GPU. Exit 1: the log "
        "cannot carry\nadvice on the layout; what is missing is said. LOG may "
        "be "
        "packed (gzip).\n"
        "Examples: moe-layout doctor train.log\n          moe-layout doctor "
        "train.log launch.sh --gpu H200 --hbm-gb 141",
    .options = takes,
    .takes_model = true,
    .takes_layout = true, // the operand behind LOG
    .lists_warnings = true,
};
