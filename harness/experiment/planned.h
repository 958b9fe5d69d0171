/*
 * planned: every run that an experiment plans, in the order in which they are
 * made: the profile runs (round 0), then the rounds, each of which begins with
 * another layout so that no layout always follows the same one. What runs,
 * counts, lists, prints or publishes an experiment walks here.
 */
#ifndef EXPERIMENT_PLANNED_H
#define EXPERIMENT_PLANNED_H

#include "roles.h"

#include <stdbool.h>

/* What is planned; nothing is owned. */
struct planned {
    const char *const *profile; // layouts of the profile runs, shortest strings
    int n_profile;
    const struct targets *targets; // n 0: not known before profiling
    int rounds;                    // over the targets, from 1
};

/* One run. */
struct planned_run {
    int round; // from 1; 0: a profile run
    const char *role;
    const char *layout; // NULL: not known before profiling
    int nth;            // how many earlier runs are the same in all of these,
                        // as a layout may be profiled twice
    const struct target *target; // NULL: a profile run
    bool shared; // no run is made: an earlier target of this layout serves
};

/* A walk over the rounds from `first` to `last`. */
struct planned_walk {
    struct planned of;
    int first, last;  // rounds; 0: the profile runs
    bool shared;      // also what an earlier target's runs serve
    int round, place; // where it stands
};

/* All runs that are made. */
struct planned_walk planned_all(const struct planned *p);

/* Those of the rounds first to last (0: the profile runs). */
struct planned_walk planned_between(const struct planned *p, int first,
                                    int last);

/* The next run; false at the end. */
bool planned_next(struct planned_walk *w, struct planned_run *out);

/* How many are left of the walk. */
int planned_count(struct planned_walk w);

#endif
