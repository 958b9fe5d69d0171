/*
 * assumed: what a prediction of memory takes for granted because nobody stated
 * it: number of ranks, platform, batch, precision; and which of its terms no
 * measurement bears out ("unchecked: ..." of hybrid models). Lines of text for
 * people, at most a handful a prediction.
 */
#ifndef MEMORY_ASSUMED_H
#define MEMORY_ASSUMED_H

#include "base/arena.h"
#include "memory.h"

enum { MEMORY_MAX_ASSUMED = 12 };

struct memory_assumed {
    const char *text[MEMORY_MAX_ASSUMED];
    int n;
};

/* What the caller knows of its question: was there a word for it? */
struct memory_stated {
    bool platform, batch;
};

/* Texts are owned by the arena; ERR_NOMEM. */
enum err memory_assumed(struct arena *a, const struct memory_terms *t,
                        struct memory_stated stated, struct memory_assumed *out,
                        struct err_msg *msg);

#endif
