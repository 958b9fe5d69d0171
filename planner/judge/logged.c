/*
 * How it works: the list is read as flags like any other source, and judged;
 * what Megatron makes of flags without a layout is the verdict's layout.
 */
#include "logged.h"

#include "judge.h"
#include "log/parse.h"
#include "source/log.h"

#include <string.h>

static bool is_unstated(const struct megatron_flags *f, enum flag_id id)
{
    return !flags_given(f, id) || flags_unknown(f, id);
}

/* Megatron lists every argument of its version; layouts came with 0.14. */
bool logged_tells_split(const struct runlog *log)
{
    return runlog_argument(log, "num_layers") &&
           runlog_argument(log, "pipeline_model_parallel_size") &&
           (runlog_argument(log, "pipeline_model_parallel_layout") ||
            runlog_argument(log, "decoder_first_pipeline_num_layers"));
}

/* A pattern states the stages of a hybrid model. */
static bool is_split(enum flag_id id, bool hybrid)
{
    return judge_flag_splits(id) ||
           (hybrid && (id == FLAG_HYBRID_LAYER_PATTERN ||
                       id == FLAG_HYBRID_OVERRIDE_PATTERN));
}

/* On the command line; not of a file that may be of another run. */
static bool is_typed(const struct megatron_flags *f, enum flag_id id)
{
    const char *from = f->slot[id].from;
    return flags_given(f, id) && from &&
           (strcmp(from, "-- flag") == 0 || strcmp(from, "option") == 0);
}

/* A split that was typed stands: whoever checks it against the log says so. */
static bool is_split_typed(const struct megatron_flags *f, bool hybrid)
{
    bool typed = false;
    for (int i = 0; i < N_FLAGS; i++)
        typed = typed || (is_split((enum flag_id)i, hybrid) &&
                          is_typed(f, (enum flag_id)i));
    return typed;
}

void logged_join(const struct runlog *log, const struct megatron_flags *own,
                 struct megatron_flags *to)
{
    const bool hybrid = judge_is_hybrid(own);
    const bool typed = is_split_typed(to, hybrid);
    const bool told =
        hybrid || flags_given(own, FLAG_LAYOUT) || logged_tells_split(log);
    for (int i = 0; i < N_FLAGS; i++) {
        const enum flag_id id = (enum flag_id)i;
        const bool split = is_split(id, hybrid);
        if (split && typed)
            continue;
        if (split && told)
            flags_clear(to, id);
        if (flags_given(own, id) && is_unstated(to, id))
            to->slot[id] = own->slot[id];
    }
}

enum err logged_split(struct arena *a, const struct runlog *log,
                      const struct core_version *core, struct logged_split *out,
                      struct err_msg *msg)
{
    struct judge_verdict v;
    struct megatron_args *args = megatron_args_new(a);
    out->known = false;
    if (!args)
        return err_set(msg, ERR_NOMEM, "log's split: out of memory");
    if (!logged_tells_split(log) ||
        source_log_read(log, "log", args, NULL) != ERR_OK)
        return ERR_OK;
    const struct megatron_flags *f = megatron_args_flags(args);
    const struct judge_question q = {f, core, false};
    if (flags_given(f, FLAG_LAYOUT) || judge_is_hybrid(f) ||
        megatron_args_account(args)->changes.n > 0)
        return ERR_OK;
    const enum err e = judge(a, &q, &v, msg);
    if (e == ERR_NOMEM)
        return e;
    out->known = e == ERR_OK && v.has_layout;
    if (out->known)
        out->layout = v.layout;
    return ERR_OK;
}

/* As the list has it; NULL: it has none, or none that is known. */
static const char *listed_layout(struct arena *a, const struct runlog *log)
{
    static const enum flag_id ids[] = {FLAG_LAYOUT, FLAG_HYBRID_LAYER_PATTERN,
                                       FLAG_HYBRID_OVERRIDE_PATTERN};
    struct megatron_args *own = megatron_args_new(a);
    if (!own || !log->n_arguments ||
        source_log_read(log, "log", own, NULL) != ERR_OK)
        return NULL;
    const struct megatron_flags *f = megatron_args_flags(own);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (flags_given(f, ids[i]) && !flags_unknown(f, ids[i]))
            return flags_text(f, ids[i]);
    return NULL;
}

enum err logged_layout(struct arena *a, const struct runlog *log,
                       const struct core_version *core, const char **out,
                       struct err_msg *msg)
{
    struct logged_split split;
    *out = listed_layout(a, log);
    if (*out && **out)
        return ERR_OK;
    const enum err e = logged_split(a, log, core, &split, msg);
    *out = e == ERR_OK && split.known ? layout_string(a, &split.layout) : NULL;
    return e;
}
