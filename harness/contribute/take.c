#include "take.h"

#include "judge/logged.h"
#include "log/runlog.h"
#include "redact.h"

#include <string.h>

/* Times of single ranks tell forward from backward; extremes do not. Both come
 * of timers that wait for the GPU; moe-train, which names a clock, has none. */
void take_facts(const struct runlog *log, struct contribution_run *r)
{
    size_t at = 0;
    const struct log_timer *t = runlog_next_timer(log, RUNLOG_FORWARD, &at);
    r->has_timers = t && t->per_rank;
    r->is_timed = t && !log->clock;
    for (size_t i = 0; i < log->n_memory; i++)
        if (log->memory[i].max_allocated_bytes > r->peak_bytes)
            r->peak_bytes = log->memory[i].max_allocated_bytes;
}

/* Reading both costs as much again as redacting; what it finds is worth it: a
 * log that lost a figure would be a wrong one. */
enum err take_log(struct contribution *c, const struct text_span *text,
                  bool keep, struct contribution_run *r, struct err_msg *msg)
{
    struct text_span redacted;
    text_sha256(text->data, text->len, r->log_sha256);
    enum err e = redact_log(text, &c->removed, &redacted, msg);
    if (e != ERR_OK)
        return e;
    struct arena scratch;
    arena_init(&scratch);
    const char *why = "not asked for";
    if (keep && redact_same(&scratch, text, &redacted, &why))
        r->redacted = redacted;
    else
        r->why_no_log = why;
    arena_clear(&scratch);
    return ERR_OK;
}

/* As one writes it, whatever its spelling; NULL: the list does not tell. */
static enum err logged_as_written(struct contribution *c,
                                  const struct runlog *log,
                                  const struct contribution_run *r,
                                  const char **layout, struct err_msg *msg)
{
    struct contribution_run own = {.name = r->name, .id = r->id};
    const char *text;
    struct megatron_args *args = megatron_args_copy(c->arena, c->args);
    enum err e = args ? logged_layout(c->arena, log, c->core, &text, msg)
                      : err_set(msg, ERR_NOMEM, "contribute: out of memory");
    if (e != ERR_OK || !text)
        return e;
    struct megatron_flags *f = megatron_args_flags(args);
    flags_set_int(f, FLAG_PP, r->model.par.pp);
    flags_set_int(f, FLAG_GLOBAL_BATCH_SIZE, r->model.batch.global_batch);
    flags_set_int(f, FLAG_MICRO_BATCH_SIZE, r->model.batch.micro_batch);
    e = contribution_judge(c, args, text, &own, msg);
    *layout = own.layout;
    return e;
}

/* Judged as the run itself is: two spellings of one layout are equal. */
enum err take_layout_check(struct contribution *c, const struct runlog *log,
                           const struct contribution_run *r,
                           struct err_msg *msg)
{
    const char *own = NULL;
    const enum err e = logged_as_written(c, log, r, &own, msg);
    if (e != ERR_OK || !own || strcmp(own, r->layout) == 0)
        return e;
    return err_set(
        msg, ERR_MODEL,
        "%s: its own list of arguments has the layout '%s', and '%s' "
        "is said to have run",
        r->name, own, r->layout);
}
