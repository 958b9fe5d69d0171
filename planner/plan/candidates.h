/*
 * candidates: layouts that a search found, with what they are ranked by. Keeps
 * each as the text of its stages only, so that a million of them fit.
 */
#ifndef PLAN_CANDIDATES_H
#define PLAN_CANDIDATES_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/layout.h"
#include "memory/memory.h"
#include "plan.h"

#include <stdbool.h>
#include <stddef.h>

struct candidate {
    double step_s;
    int near_bottleneck;
    double unevenness; // sum of the squared times of the ranks
    const char *text;  // the stages' units, each ended by a zero
};

struct candidates {
    struct arena *arena;
    const struct plan_context *ctx;
    struct plan_engine *engine;
    struct memory_terms memory;
    struct candidate *all;
    size_t n, cap;
    size_t n_predicted; // of the first of them
};

/* An empty list for the layouts of one context, which must live as long.
 * Owned by the arena. */
enum err candidates_init(struct arena *a, const struct plan_context *ctx,
                         struct candidates *out, struct err_msg *msg);

/* Does every rank of the layout fit into the context's memory limit, margin
 * kept? True where there is no limit. */
bool candidates_fits(const struct candidates *c, const struct layout *l);

/* Adds a copy of the layout, to be predicted with others that were put in. */
enum err candidates_put(struct candidates *c, const struct layout *l,
                        struct err_msg *msg);
enum err candidates_predict(struct candidates *c, struct err_msg *msg);

/* Adds a copy of the layout with its predicted step. */
enum err candidates_add(struct candidates *c, const struct layout *l,
                        struct err_msg *msg);

/* True when the same layout is in the list. */
bool candidates_has(const struct candidates *c, const struct layout *l);

/* Best first: by step time; those within PLAN_TIE of each other by how few
 * stages are as slow as the slowest, since one is less exposed to jitter than
 * two; then the more even one. */
void candidates_sort(struct candidates *c);

/* The i-th as a layout, owned by the arena; ERR_NOMEM. */
enum err candidates_layout(const struct candidates *c, size_t i,
                           struct layout *out);

#endif
