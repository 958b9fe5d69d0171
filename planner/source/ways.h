/*
 * ways: a script may go several ways where something is not known. What is the
 * same on all of them is known; what is not is unknown for the reason on which
 * the ways part.
 */
#ifndef SOURCE_WAYS_H
#define SOURCE_WAYS_H

#include "base/err.h"
#include "megatron/flags.h"
#include "shell/bash.h"

#include <stdbool.h>

/* The first decision on which two ways part; NULL where neither had any. */
const struct bash_decision *ways_parting(const struct bash_way *a,
                                         const struct bash_way *b);

/* Do both sets hold the same values, and nothing known that is unknown in the
 * other? */
bool ways_same(const struct megatron_flags *a, const struct megatron_flags *b);

/* Makes every slot of `into` that differs from the other's unknown. ERR_NOMEM.
 */
enum err ways_merge(struct megatron_flags *into,
                    const struct megatron_flags *other,
                    const struct flag_unknown *why, struct err_msg *msg);

#endif
