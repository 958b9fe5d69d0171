/*
 * redact: a training log with nothing in it but what figures need. Lines are
 * kept when they are made of numbers and the words of training logs
 * (vocabulary); of an iteration's line, the fields that are; of Megatron's list
 * of arguments, those that Megatron has, with harmless values. Names before a
 * line's own text (hosts, pods, jobs) become "removed1", "removed2", equal ones
 * alike, so that lines of several writers stay apart.
 *
 * What is left must still say the same: redact_same() reads both. Sized for
 * logs of some 100 MB, in memory.
 */
#ifndef CONTRIBUTE_REDACT_H
#define CONTRIBUTE_REDACT_H

#include "base/err.h"
#include "base/text.h"
#include "removed.h"

/* Makes the log that may be given away, owned by the arena of `r`, which is
 * told of what was removed. ERR_NOMEM. */
enum err redact_log(const struct text_span *log, struct removed *r,
                    struct text_span *out, struct err_msg *msg);

/* True when both logs tell the same iterations, timers of known names, memory
 * and failure. Otherwise *why names the first that differs, a constant text. */
bool redact_same(struct arena *a, const struct text_span *log,
                 const struct text_span *redacted, const char **why);

#endif
