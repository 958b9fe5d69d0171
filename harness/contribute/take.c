#include "take.h"

#include "log/runlog.h"
#include "redact.h"

/* Times of single ranks tell forward from backward; extremes do not. */
void take_facts(const struct runlog *log, struct contribution_run *r)
{
    size_t at = 0;
    const struct log_timer *t = runlog_next_timer(log, RUNLOG_FORWARD, &at);
    r->has_timers = t && t->per_rank;
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
