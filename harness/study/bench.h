/*
 * bench: the simulator with a study's own unit costs. A study is one machine of
 * the article: the manifests that name it (published.study), its model and
 * split, and figures that the article states. What it does not state is fitted
 * to the two speedups by a small search: the loss head's cost within the range
 * stated, one overhead of the step, the number of micro-batches. Three numbers
 * for two figures: what follows shows that the figures are consistent with one
 * another, and predicts nothing.
 *
 * Times are in decoder layers: forward plus backward of one t and micro-batch
 * is 1. E's cost is the roofline's of the machine's card, since the article has
 * none. Sized for a few thousand simulations of 16 layers.
 */
#ifndef STUDY_BENCH_H
#define STUDY_BENCH_H

#include "base/arena.h"
#include "base/err.h"
#include "cost/card.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"
#include "plan/plan.h"

/* What the fit chose, and what is given. */
struct study_costs {
    double e, m, l;  // in t
    double overhead; // of a step, in t
    int n_mb;        // micro-batches
};

/* A number of micro-batches with the best that it can reach. */
struct study_try {
    struct study_costs costs;
    double speedup[2]; // over default and count-based
    double miss;       // the larger relative error of the two
};

enum { STUDY_MAX_TRIES = 12 };

struct study_bench {
    const char *name;
    const struct manifest *manifest; // the study's, n_manifests
    int n_manifests;
    struct workload workload;
    const struct card *card;
    struct layout pick, base, count_based; // the article's, or as the rules say
    double wanted[2];                      // its speedups
    double l_lo, l_hi;                     // of its loss head
    struct study_costs costs;              // fitted
    struct study_try tries[STUDY_MAX_TRIES];
    int n_tries;
};

/* Text of a published figure, from the first manifest that has it; NULL. */
const char *study_published(const struct study_bench *b, const char *key);

/* The same as a number; NAN where there is none. */
double study_figure(const struct study_bench *b, const char *key);

/* Opens the study that begins at manifest[0], of `n`: those behind it with its
 * name belong to it. ERR_PARSE for a manifest without the figures that a study
 * needs. Owned by the arena. */
enum err study_open(struct arena *a, const struct manifest *manifest, int n,
                    struct study_bench *out, struct err_msg *msg);

/* A context with some costs and micro-batches; all of `out` is the arena's. */
enum err study_context(struct arena *a, const struct study_bench *b,
                       const struct study_costs *c, struct plan_context *out,
                       struct err_msg *msg);

/* Step of a layout, overhead included, in t. */
enum err study_step(struct arena *a, const struct plan_context *ctx,
                    const struct layout *l, double *step, struct err_msg *msg);

/* A unit by the roofline of the study's card, in t, with micro-batches of so
 * many sequences. */
double study_roofline(const struct study_bench *b, enum unit_kind kind,
                      int64_t micro_batch);

/* Sequences of a micro-batch when a step has `n_mb` of them. */
int64_t study_micro_batch(const struct study_bench *b, int n_mb);

/* Fits what is not stated; fills costs and tries. Of numbers of micro-batches
 * that the rounding of the published figures cannot tell apart, the one with
 * the smallest overhead is taken, and the smallest overhead that does. */
enum err study_fit(struct arena *a, struct study_bench *b, struct err_msg *msg);

#endif
