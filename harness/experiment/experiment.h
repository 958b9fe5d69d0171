/*
 * experiment: the loop of one manifest: profile runs give costs, costs give a
 * plan, the plan gives the layouts that rounds of runs measure. Every step
 * looks first for a finished run of the same manifest, model, binaries and
 * machine, so calling it again continues where it stopped.
 */
#ifndef EXPERIMENT_H
#define EXPERIMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "campaign.h"
#include "cost/cost.h"
#include "execute.h"
#include "launch/launch.h"
#include "manifest/machine.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"
#include "plan/plan.h"
#include "roles.h"
#include "schedule/schedule.h"
#include "store/results.h"
#include "tables.h"

#include <stdbool.h>

struct experiment {
    struct arena *a; // of everything below
    struct manifest manifest;
    struct workload workload;
    struct machine machine;
    struct schedule schedule;
    struct plan_context ctx; // ctx.cost is NULL until costs are known
    struct launch launch;    // of no layout: launcher, clock, binary
    const char *dir;         // of the results
    char key[TEXT_SHA256_HEX];
    const struct layout *profile; // layouts of the profile runs
    int n_profile;                // 0 with costs_from
    struct run_list runs;         // finished ones, of this key
    struct targets targets;
    double reference_ms;         // of the experiment so far
    double profile_reference_ms; // of the profile runs
    const char *fit_note;        // what the fit had to leave joint, or NULL
};

struct experiment_options {
    const char *manifest, *out; // out NULL: results/<name>
    enum role only;             // N_ROLES: all
    double max_usd;             // 0: only the manifest's budget
    bool quiet;
};

/* Reads manifest, model, machine and finished runs; starts nothing. */
enum err experiment_open(struct arena *a, const struct experiment_options *opt,
                         struct experiment *out, struct err_msg *msg);

/* Layouts of the roles into e->targets; those that need costs stay without a
 * layout when `keep_unknown`, else they are left out with a warning. */
enum err experiment_resolve(struct experiment *e, enum role only,
                            bool keep_unknown, struct err_msg *msg);

/* Costs from the valid profile runs, or from the experiment of costs_from:
 * sets e->ctx.cost. ERR_MODEL or ERR_PARSE when there are too few. */
enum err experiment_fit(struct experiment *e, struct err_msg *msg);

/* Number of runs that a pass over e->targets makes, and the bound on what one
 * costs. */
int experiment_n_runs(const struct experiment *e);
double experiment_run_bound_usd(const struct experiment *e);

/* Which of the planned runs: the same layout can be profiled `nth` + 1 times.
 */
struct planned_run {
    int round;
    const char *role, *layout;
    int nth;
};

/* The nth profile run, counted from 0; layout is NULL when out of memory. */
struct planned_run experiment_profile_run(const struct experiment *e, int i);

/* Its finished run that is not worth another try, or the last failed one; NULL
 * when there is none. */
const struct run_record *experiment_find(const struct experiment *e,
                                         const struct planned_run *which);

/* All of it: profile, fit, plan, rounds; writes DIR/costs.json, DIR/plan.json
 * and the CSV files. *n_bad counts planned runs that did not end valid. */
enum err experiment_run(struct experiment *e,
                        const struct experiment_options *opt, int *n_bad,
                        struct err_msg *msg);

/* Input of the tables for what is known now. */
struct tables_input experiment_tables(const struct experiment *e);

/* The one job that holds the experiment; max_usd as in the options. */
struct campaign experiment_campaign(const struct experiment *e, double max_usd);

#endif
