/*
 * observed: one configuration whose step time was measured or is to be
 * predicted, with its own simulator: what a step takes for given prices of
 * units and of the terms outside the pipeline. Seconds.
 *
 * Times of a backward follow from the forward's: twice, and what recompute
 * runs again (full: the layer's forward; selective: its attention scores, by
 * their share of the FLOPs). A step time alone cannot part the two.
 * Sized for some hundred configurations of up to 2^24 operations.
 */
#ifndef CALIBRATE_OBSERVED_H
#define CALIBRATE_OBSERVED_H

#include "plan/plan.h"

#include <stdbool.h>

/* Terms of a step that can be left out, to see what each is worth: identifier,
 * name, whether the default model has it, what it is. */
#define OBSERVED_TERM_TABLE(X)                                                 \
    X(OBSERVED_DP, "dp", true,                                                 \
      "gradients of the heaviest rank, as traffic that leaves a node")         \
    X(OBSERVED_CONSTANT, "constant", true,                                     \
      "a constant a group, of runs with virtual stages")                       \
    X(OBSERVED_OUTPUT, "output", true, "the output layer, by its FLOPs")       \
    X(OBSERVED_RECOMPUTE, "recompute", true,                                   \
      "what recompute runs again: full, a forward; selective, by FLOPs")       \
    X(OBSERVED_FREE, "free-output", true,                                      \
      "the output layer's own rate, where leaving rows out speaks for it")     \
    X(OBSERVED_OPTIMIZER, "optimizer", false,                                  \
      "the optimiser: seconds a parameter byte of the heaviest rank")          \
    X(OBSERVED_START, "start", false,                                          \
      "a constant a group, of runs without virtual stages")

enum observed_term {
#define OBSERVED_ENUM(id, name, on, help) id,
    OBSERVED_TERM_TABLE(OBSERVED_ENUM)
#undef OBSERVED_ENUM
        N_OBSERVED_TERMS
};

const char *observed_term_name(enum observed_term t);
const char *observed_term_help(enum observed_term t);

/* Bits 1 << term. */
unsigned observed_default_terms(void);

/* "dp,output" to their bits; "none": no term. ERR_PARSE names the known ones.
 */
enum err observed_read_terms(const char *text, unsigned *out,
                             struct err_msg *msg);

/* What a step is made of. */
struct observed_prices {
    double fwd_s[N_KINDS]; // one unit, one micro-batch
    double dp_s_per_byte;  // of a byte that leaves a node
    double constant_s;
    double optimizer_s_per_byte; // of a rank's own parameters
};

/* Who asks: `model` with its parallel sizes, batch and flags; its layout. */
struct observed_case {
    const struct model *model;
    struct layout layout;
    enum p2p_mode mode;
    int gpus_per_node;         // for the reduction and for transfers
    const struct cost *links;  // what transfers take, and of whose bytes the
                               // prices are; NULL: nothing
    const struct cost *timers; // or NULL: whose ratio of backward to forward
                               // counts, where they know the unit
    bool no_recompute;         // as if nothing was run again
};

struct observed {
    const char *id;
    int group; // of those that share unit costs, from 0; the caller's
    // forward of a unit in proportion: FLOPs of one rank; of E, values written
    double size[N_KINDS];
    double bwd_ratio[N_KINDS]; // backward over forward
    struct model model;
    struct layout layout;
    struct schedule schedule;
    struct cost *cost; // the engine's, written by observed_step()
    struct plan_engine *engine;
};

/* Makes the simulator; id and group stay the caller's.
 * ERR_RANGE for what Megatron refuses, ERR_MODEL for recompute whose price
 * does not follow from FLOPs (block, modules of experts). Owned by the arena.
 */
enum err observed_open(struct arena *a, const struct observed_case *from,
                       struct observed *out, struct err_msg *msg);

/* What the step takes. */
enum err observed_step(struct observed *o, const struct observed_prices *p,
                       double *step_s, struct err_msg *msg);

/* The kind that others are priced by: t, or t_dense where there is no t; of a
 * hybrid model the symbol with most FLOPs. */
enum unit_kind observed_base(const struct observed *o);

/* Is m a part of L here, whose size and price are those of both? */
bool observed_is_joint(const struct observed *o);

/* Prices as a costs file has them, of this configuration; standard errors of
 * forwards are given, those of backwards follow. `cost` keeps what is not of a
 * step (memory rules, fingerprint). */
void observed_write_cost(const struct observed *o,
                         const struct observed_prices *p,
                         const double fwd_se[N_KINDS], struct cost *cost);

#endif
