/*
 * How it works: the model comes from the configuration, else from each log's
 * own list of arguments; flags behind "--" win. Sizes that a log's lines tell
 * (the batch, the ranks) are taken where nothing states them.
 */
#include "sources.h"

#include "base/csv.h"
#include "chunk.h"
#include "doctor/steps.h"
#include "experiment_folder.h"
#include "judge/logged.h"
#include "layout/listed.h"
#include "published/import_logs.h"
#include "source/log.h"
#include "source/source.h"
#include "take.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

// of logs and configurations
enum { SOURCES_LOG_BYTES = 256 << 20, SOURCES_CONFIG_BYTES = 32 << 20 };

static enum err sources_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "contribute: out of memory");
}

/* ---- the model ---- */

/* Strict: what was typed for this command was meant. */
static enum err read_flags(const struct sources_request *q,
                           struct megatron_args *args, struct err_msg *msg)
{
    const struct megatron_args_options opt = {.strict = true};
    megatron_args_flags(args)->from = "-- flag";
    return megatron_args_read(args, q->flags, q->n_flags, &opt, msg);
}

/* NULL in *out: neither a configuration nor flags were given. */
static enum err read_config(struct contribution *c,
                            const struct sources_request *q,
                            struct megatron_args **out, struct err_msg *msg)
{
    struct text_span text;
    const struct source_request req = {.path = q->config, .launch = q->launch};
    *out = NULL;
    if (!q->config)
        return ERR_OK;
    struct megatron_args *args = megatron_args_new(c->arena);
    if (!args)
        return sources_no_memory(msg);
    enum err e = text_read_unpacked(c->arena, q->config, SOURCES_CONFIG_BYTES,
                                    &text, msg);
    if (e == ERR_OK)
        e = model_source_read(c->arena, &req, args, msg);
    if (e == ERR_OK)
        e = read_flags(q, args, msg);
    if (e != ERR_OK)
        return e;
    removed_note_file(&c->removed, (struct log_text){text.data, text.len});
    *out = args;
    return ERR_OK;
}

static bool is_unstated(const struct megatron_flags *f, enum flag_id id)
{
    return !flags_given(f, id) || flags_unknown(f, id);
}

/* What all logs of one command line share. */
struct reading {
    struct contribution *c;
    const struct sources_request *q;
    const struct megatron_args *config; // NULL: none was given
};

/* A set of flags of its own for the run of one log. */
static enum err args_of_log(const struct reading *r, const struct runlog *log,
                            struct megatron_args **out, struct err_msg *msg)
{
    struct arena *a = r->c->arena;
    struct megatron_args *own = megatron_args_new(a);
    struct megatron_args *args =
        r->config ? megatron_args_copy(a, r->config) : own;
    enum err e = args && own ? ERR_OK : sources_no_memory(msg);
    if (e == ERR_OK && log->n_arguments)
        e = source_log_read(log, "its list of arguments", own, msg);
    if (e == ERR_OK && r->config)
        logged_join(log, megatron_args_flags(own), megatron_args_flags(args));
    *out = args;
    return e == ERR_OK ? read_flags(r->q, args, msg) : e;
}

/* As the doctor of logs does: lines state the batch, timers list the ranks. */
static void fill_from_steps(struct megatron_args *args, const struct steps *s)
{
    struct megatron_flags *f = megatron_args_flags(args);
    if (is_unstated(f, FLAG_GLOBAL_BATCH_SIZE) && s->global_batch)
        flags_set_int(f, FLAG_GLOBAL_BATCH_SIZE, s->global_batch);
    if (is_unstated(f, FLAG_WORLD_SIZE) && s->n_ranks > 1)
        flags_set_int(f, FLAG_WORLD_SIZE, s->n_ranks);
}

/* ---- logs ---- */

/* "LAYOUT=LOG": the layout in letters, NULL for a log alone. A file of that
 * whole name wins: names of runs have '=' in them, too. */
static const char *split_layout(struct arena *a, const char *operand,
                                const char **path)
{
    struct stat st;
    struct err_msg ignored;
    const char *equals = strchr(operand, '=');
    *path = operand;
    if (!equals || stat(operand, &st) == 0)
        return NULL;
    const char *text = arena_strndup(a, operand, (size_t)(equals - operand));
    if (!text || layout_of_list(a, text, &text, &ignored) != ERR_OK ||
        !chunk_is_layout((struct log_text){text, strlen(text)}))
        return NULL;
    *path = equals + 1;
    return text;
}

/* Neither of the two forms of an operand. */
static enum err check_operand(const char *operand, const char *path,
                              struct err_msg *msg)
{
    struct stat st;
    if (path != operand || !strchr(operand, '=') || stat(operand, &st) == 0)
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   "got '%s': no file has that name, and what stands before "
                   "'=' is no layout: want LOG or LAYOUT=LOG, as "
                   "'Et*4|t*4mL=a.log'",
                   operand);
}

/* Median and quartiles of the steps that count. */
static enum err take_times(struct contribution *c, const struct runlog *log,
                           const struct steps *s, struct contribution_run *r,
                           struct err_msg *msg)
{
    struct import_times t;
    char stat[CONTRIBUTION_STAT_BYTES];
    const struct log_iteration *it;
    double *x = arena_alloc(c->arena, s->n_used + 1, sizeof *x);
    int n = 0;
    if (!x)
        return sources_no_memory(msg);
    for (size_t at = 0; (it = runlog_next_used(log, &at)) != NULL;)
        x[n++] = it->step_ms * 1e-3;
    r->n_used = n;
    r->span = s->span;
    r->n_dropped = (int)s->n_logged - n;
    if (n == 0)
        return ERR_OK; // checks say so
    enum err e = import_times_of(x, n, 0, &t, msg);
    if (e != ERR_OK)
        return e;
    r->step_s = t.step_s;
    r->q25 = t.q25_s;
    r->q75 = t.q75_s;
    contribution_stat(r, stat);
    r->stat = arena_strdup(c->arena, stat);
    return r->stat ? ERR_OK : sources_no_memory(msg);
}

/* The log as text and as facts, and the flags of its run. */
static enum err open_log(const struct reading *in, const char *path,
                         struct text_span *text, struct runlog *log,
                         struct err_msg *msg)
{
    enum err e =
        text_read_unpacked(in->c->arena, path, SOURCES_LOG_BYTES, text, msg);
    if (e != ERR_OK)
        return e; // names the path itself
    e = logparse_read_memory(in->c->arena, text->data, text->len, log, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    if (!in->config && !log->n_arguments && in->q->n_flags == 0)
        return err_set(msg, ERR_PARSE,
                       "%s: the log has no list of arguments, which rank 0 "
                       "prints: put its file before this one (cat), or name "
                       "it, the launch script or the model's file with "
                       "--config",
                       path);
    return ERR_OK;
}

/* Lines of another batch are of another run than the list or the script. */
static enum err check_batch(const struct contribution_run *r,
                            const struct steps *s, struct err_msg *msg)
{
    const int64_t said = r->model.batch.global_batch;
    if (!s->global_batch || s->global_batch == said)
        return ERR_OK;
    return err_set(
        msg, ERR_MODEL,
        "%s: its lines say a global batch of %lld, and its arguments "
        "or the script %lld: name those of this run, or add at the "
        "end of the command: -- --global-batch-size %lld",
        r->name, (long long)s->global_batch, (long long)said,
        (long long)s->global_batch);
}

/* What cannot be read ends it: the user meant it to count. */
static enum err read_log(const struct reading *in, const char *operand,
                         struct err_msg *msg)
{
    struct contribution *c = in->c;
    struct text_span text;
    struct runlog log;
    struct steps steps;
    struct megatron_args *args = NULL;
    const char *path;
    const char *layout = split_layout(c->arena, operand, &path);
    struct contribution_run *r;
    struct findings *found = arena_alloc(c->arena, 1, sizeof *found);
    enum err e = found ? contribution_add(c, &r, msg) : sources_no_memory(msg);
    if (e != ERR_OK)
        return e;
    *found = (struct findings){.arena = c->arena};
    r->findings = found;
    r->name = path;
    e = check_operand(operand, path, msg);
    if (e == ERR_OK)
        e = open_log(in, path, &text, &log, msg);
    if (e != ERR_OK)
        return e;
    e = args_of_log(in, &log, &args, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    steps_read(c->arena, &log, &steps, found);
    fill_from_steps(args, &steps);
    r->printed_tflops = steps.printed_tflops;
    take_facts(&log, r);
    r->profile = r->is_timed;
    e = contribution_judge(c, args, layout, r, msg);
    if (e == ERR_OK)
        e = check_batch(r, &steps, msg);
    if (e == ERR_OK)
        e = take_times(c, &log, &steps, r, msg);
    if (e == ERR_OK)
        e = take_layout_check(c, &log, r, msg);
    return e == ERR_OK ? take_log(c, &text, !in->q->no_logs, r, msg) : e;
}

/* ---- typed ---- */

/* The last '=': what stands behind it must be a number. */
static enum err read_step(struct contribution *c,
                          const struct megatron_args *config, const char *text,
                          struct err_msg *msg)
{
    const char *equals = strrchr(text, '=');
    double ms = 0;
    struct contribution_run *r;
    const enum err e = contribution_add(c, &r, msg);
    if (e != ERR_OK)
        return e;
    if (!equals || !text_to_double(equals + 1, &ms) || ms <= 0)
        return err_set(msg, ERR_PARSE,
                       "--step: got '%s', want LAYOUT=MS, e.g. "
                       "'Et*4|t*4mL=812.5'",
                       text);
    r->name = arena_strndup(c->arena, text, (size_t)(equals - text));
    r->step_s = ms * 1e-3;
    r->stat = "typed in";
    return r->name ? contribution_judge(c, config, r->name, r, msg)
                   : sources_no_memory(msg);
}

/* A row of the table; its sizes win over the configuration's. */
static enum err read_table_row(struct contribution *c,
                               const struct megatron_args *config,
                               const struct csv *t, size_t row,
                               struct err_msg *msg)
{
    static const struct {
        const char *column;
        enum flag_id id;
    } sizes[] = {{"pp", FLAG_PP},
                 {"mbs", FLAG_MICRO_BATCH_SIZE},
                 {"gbs", FLAG_GLOBAL_BATCH_SIZE}};
    struct megatron_args *args = megatron_args_copy(c->arena, config);
    struct contribution_run *r;
    int64_t n = 0;
    const enum err e =
        args ? contribution_add(c, &r, msg) : sources_no_memory(msg);
    if (e != ERR_OK)
        return e;
    r->name = csv_get(t, row, "layout");
    r->stat = "typed in";
    if (!r->name || !*r->name ||
        !csv_get_double(t, row, "step_s", &r->step_s) || r->step_s <= 0)
        return err_set(msg, ERR_PARSE,
                       "%s: row %zu: want a layout and step_s, seconds above 0",
                       t->where, row + 1);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *text = csv_get(t, row, sizes[i].column);
        if (text && text_to_int64(text, &n) && n > 0)
            flags_set_int(megatron_args_flags(args), sizes[i].id, n);
    }
    return contribution_judge(c, args, r->name, r, msg);
}

static enum err read_table(struct contribution *c,
                           const struct megatron_args *config, const char *path,
                           struct err_msg *msg)
{
    struct csv t;
    enum err e = csv_read_file(c->arena, path, &t, msg);
    for (size_t row = 0; e == ERR_OK && row < t.n_rows; row++)
        e = read_table_row(c, config, &t, row, msg);
    return e;
}

/* Flags alone may state the model, too. */
static enum err read_steps(struct contribution *c,
                           const struct sources_request *q,
                           struct megatron_args *config, struct err_msg *msg)
{
    enum err e = ERR_OK;
    struct megatron_args *args = config;
    if (!args && q->n_flags > 0) {
        args = megatron_args_new(c->arena);
        e = args ? read_flags(q, args, msg) : sources_no_memory(msg);
    }
    if (e == ERR_OK && !args)
        e = err_set(msg, ERR_PARSE,
                    "--step: of which model? name its file, YAML or launch "
                    "script with --config");
    for (int i = 0; i < q->n_steps && e == ERR_OK; i++)
        e = read_step(c, args, q->steps[i], msg);
    return e == ERR_OK && q->table ? read_table(c, args, q->table, msg) : e;
}

/* ---- which one ---- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A folder knows its hardware; of everything else the card must be said before
 * anything is read. */
enum err sources_read(struct contribution *c, const struct sources_request *q,
                      struct err_msg *msg)
{
    struct megatron_args *config = NULL;
    const bool folder = q->n_operands > 0 && is_folder(q->operands[0]);
    const bool typed = q->n_steps > 0 || q->table;
    if (q->n_operands == 0 && !typed)
        return err_set(msg, ERR_PARSE,
                       "nothing to contribute: name logs, the folder of an "
                       "experiment, or --step LAYOUT=MS");
    if ((folder && q->n_operands > 1) || (q->n_operands > 0 && typed))
        return err_set(msg, ERR_PARSE,
                       "one source at a time: logs, or one folder, or --step");
    if (!c->gpu && !folder)
        return err_set(msg, ERR_PARSE,
                       "--gpu is missing: the card that ran, such as --gpu "
                       "H100");
    enum err e = read_config(c, q, &config, msg);
    if (e == ERR_OK && folder) {
        const struct experiment_folder from = {q->operands[0], config,
                                               !q->no_logs};
        c->from = CONTRIBUTION_EXPERIMENT;
        return experiment_folder_read(c, &from, msg);
    }
    const struct reading in = {c, q, config};
    c->from = typed ? CONTRIBUTION_TYPED : CONTRIBUTION_LOGS;
    for (int i = 0; i < q->n_operands && e == ERR_OK; i++)
        e = read_log(&in, q->operands[i], msg);
    return e == ERR_OK && typed ? read_steps(c, q, config, msg) : e;
}
