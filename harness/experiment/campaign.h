/*
 * campaign: one job of a job system that holds a whole experiment: the harness
 * calls itself inside it, where every run is a child. With Slurm both see the
 * same folders; a Hugging Face job carries program, manifest, model and costs
 * along, and its results come back at every poll.
 *
 *   DIR/job/  job.sh log.txt job.json (while the job lasts) carry/ spent.txt
 */
#ifndef EXPERIMENT_CAMPAIGN_H
#define EXPERIMENT_CAMPAIGN_H

#include "base/arena.h"
#include "base/err.h"
#include "execute.h"
#include "launch/launch.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"

struct campaign {
    const struct manifest *manifest;
    const struct workload *workload;
    const struct launch *launch;
    const char *dir;   // of the results
    const char *costs; // file of costs_from, or NULL
    int n_runs;        // that may be made
    double max_usd;    // of the whole experiment, 0: no limit
};

/* How long the job may last: n_runs of limits.run_s, limits.experiment_s, and
 * what is left of the budget, the least of them. */
double campaign_limit_s(const struct campaign *c, double spent_usd);

/* The job's script and the words that hand it over, for --dry-run. */
enum err campaign_prepare(struct arena *a, const struct campaign *c,
                          const char **text, struct words *submit,
                          struct err_msg *msg);

/* Starts the job, or takes over one that runs, and waits for its end. How its
 * runs ended is in their folders. ERR_MODEL when the budget allows no start,
 * ERR_CHILD after an interruption or when the system gives no answer. */
enum err campaign_run(struct arena *a, const struct campaign *c,
                      struct progress *p, struct err_msg *msg);

/* True when the manifest asks for such a job and this is not in it. */
bool campaign_is_wanted(const struct manifest *mf, const struct launch *l);

#endif
