/*
 * experiment: what is known of one manifest's experiment: the finished runs of
 * the same manifest, model, binaries and machine, the costs that its profile
 * runs give, and the layouts that the costs give. perform makes the runs.
 */
#ifndef EXPERIMENT_H
#define EXPERIMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "campaign.h"
#include "cost/cost.h"
#include "launch/launch.h"
#include "manifest/machine.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"
#include "plan/plan.h"
#include "planned.h"
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
    const char **profile;                // layouts of the profile runs
    const struct layout *profile_parsed; // the same, n_profile of them
    int n_profile;                       // 0 with costs_from
    struct run_list runs;                // finished ones, of this key
    size_t runs_room;                    // of runs.run
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

/* What is planned with the targets known now, for planned_all() and such. */
struct planned experiment_planned(const struct experiment *e);

/* How many runs that can be at most, before the targets are known. */
int experiment_most_runs(const struct experiment *e);

/* What it may cost, US dollars: the least of the manifest's budget and
 * `max_usd`; 0: no limit. */
double experiment_budget_usd(const struct experiment *e, double max_usd);

/* The bound on what one run costs, in US dollars. */
double experiment_run_bound_usd(const struct experiment *e);

/* Its finished run that is not worth another try, or the last failed one; NULL
 * when there is none, or its layout is not known. */
const struct run_record *experiment_find(const struct experiment *e,
                                         const struct planned_run *which);

/* The first run whose files were changed since it ended and that no valid one
 * stands in for; NULL when there is none. */
const struct run_record *experiment_changed(const struct experiment *e);

/* A run that has just ended, put in its place by round. */
enum err experiment_add_run(struct experiment *e, const struct run_record *run,
                            struct err_msg *msg);

/* Reads the folders of finished runs again, as another process may have made
 * some. */
enum err experiment_reload(struct experiment *e, struct err_msg *msg);

/* Sets e->reference_ms and e->profile_reference_ms from the runs so far. */
void experiment_update_reference(struct experiment *e);

/* DIR/plan.json: the fastest layouts with the costs known now. */
enum err experiment_write_plan(struct experiment *e, struct err_msg *msg);

/* Predicts the targets again, at the median speed of all runs, to which the
 * measurements are corrected. */
enum err experiment_predict_again(struct experiment *e, struct err_msg *msg);

/* A line on stderr that names the experiment. */
void experiment_warn(const struct experiment *e, const char *line);

/* Input of the tables for what is known now. */
struct tables_input experiment_tables(const struct experiment *e);

/* The one job that holds the experiment; max_usd as in the options. */
struct campaign experiment_campaign(const struct experiment *e, double max_usd);

#endif
