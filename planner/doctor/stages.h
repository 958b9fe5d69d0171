/*
 * stages: what each pipeline rank works for one micro-batch, forward plus
 * backward, and which one the others wait for. By the run's own per-rank timers
 * where it has them, else by costs; with no model known the ranks of the timers
 * are compared as they are. Seconds.
 */
#ifndef DOCTOR_STAGES_H
#define DOCTOR_STAGES_H

#include "cost/fit.h"
#include "plan/plan.h"

enum stages_source {
    STAGES_NONE,
    STAGES_TIMERS, // pipeline ranks, by per-rank timers
    STAGES_RANKS,  // ranks of the job, by per-rank timers, model not known
    STAGES_COSTS   // pipeline ranks, by costs that no timer supports
};

struct stages {
    enum stages_source source;
    int n;
    const double *work_s; // [n] of a micro-batch; of a step with RANKS
    const double *spread; // [n] slowest over fastest rank of a stage less 1,
                          // or NULL
    int slowest;
    double others_s; // mean of the others
    double excess;   // slowest over that, less 1; 0 where there is one stage
    double waits_s;  // of a step: micro-batches x (slowest - mean of all)
};

/* The run's timers by stage. ERR_PARSE where it has none by rank. */
enum err stages_of_timers(struct arena *a, const struct model *m,
                          const struct fit_run *run, struct stages *out,
                          struct err_msg *msg);

/* The same by rank, of a log alone; source STAGES_NONE without timers of two
 * ranks or more. ERR_NOMEM. */
enum err stages_of_ranks(struct arena *a, const struct runlog *log, int n_ranks,
                         struct stages *out, struct err_msg *msg);

/* By the context's costs, of the run's layout. ERR_NOMEM. */
enum err stages_of_costs(struct arena *a, const struct plan_context *ctx,
                         const struct fit_run *run, struct stages *out,
                         struct err_msg *msg);

/* Stages within this of the mean of the others hold nobody back. */
extern const double STAGES_EVEN;

#endif
