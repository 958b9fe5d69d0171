/*
 * follow: the figures that follow from a study's unit costs, each by one
 * function that fills a row's computed value, and its note where the figure
 * needs a word.
 */
#ifndef STUDY_FOLLOW_H
#define STUDY_FOLLOW_H

#include "bench.h"
#include "plan/search.h"

struct study_row;

/* What several figures need. */
struct follow {
    struct arena *a;
    const struct study_bench *bench;
    struct plan_context ctx;    // with the fitted costs
    struct search_result plain; // all layouts with MTP beside the loss, ranked
    struct search_result all;   // and those with MTP on a stage of its own
};
enum err follow_open(struct arena *a, const struct study_bench *b,
                     struct follow *out, struct err_msg *msg);

/* One figure each; errors of the simulator and ERR_NOMEM. */
#define FOLLOW_FIGURE(name)                                                    \
    enum err follow_##name(const struct follow *f, struct study_row *to,       \
                           struct err_msg *msg)

/* ---- unit costs, as taken or fitted ---- */
FOLLOW_FIGURE(m);
FOLLOW_FIGURE(e);
FOLLOW_FIGURE(l);
FOLLOW_FIGURE(batches);
FOLLOW_FIGURE(overhead);

/* ---- layouts and what they take ---- */
FOLLOW_FIGURE(default);
FOLLOW_FIGURE(count_based);
FOLLOW_FIGURE(pick);
FOLLOW_FIGURE(default_layout);
FOLLOW_FIGURE(count_layout);
FOLLOW_FIGURE(searched);
FOLLOW_FIGURE(with_loss);
FOLLOW_FIGURE(alone);
FOLLOW_FIGURE(last_stage);

/* ---- a planner on FLOPs ---- */
FOLLOW_FIGURE(flops_m);
FOLLOW_FIGURE(flops_l);
FOLLOW_FIGURE(flops_loss);

/* ---- the roofline's own unit costs ---- */
FOLLOW_FIGURE(roofline_m);
FOLLOW_FIGURE(roofline_l);

/* ---- the two misses ---- */
FOLLOW_FIGURE(standalone);
FOLLOW_FIGURE(two_bottlenecks);

#endif
