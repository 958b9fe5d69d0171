/*
 * launch: from an experiment and a layout to the exact words that start one
 * run, per job system, and the environment it gets. Starts nothing itself.
 *
 * The launchers themselves are in launch_local, launch_torchrun, launch_slurm
 * and launch_hf; launcher.h says what one is.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "launcher.h"
#include "words.h"

#include <stdbool.h>
#include <stdio.h>

/* The words of one run. ERR_PARSE names the known launchers. */
enum err launch_build(struct arena *a, const struct launch_request *req,
                      struct launch *out, struct err_msg *msg);

/* ERR_CHILD with what to install, build or log in to when a run cannot start
 * here; ERR_PARSE for a key that its launcher cannot work with. */
enum err launch_check(struct arena *a, const struct manifest *mf,
                      const struct launch *l, struct err_msg *msg);

/* True when runs are jobs that are asked about, not children. */
bool launch_is_job(const struct launch *l);

/* "name  help" lines of the launcher table. */
void launch_print_help(FILE *out);

/* The whole environment of a run: this process' own with `add` on top, as
 * posix_spawn wants it; NULL when out of memory. */
char **launch_environment(struct arena *a, const struct words *add);

/* The part of an environment that is recorded with a run: an allow-list of
 * names that can change its speed, without values that look secret or name a
 * person or a machine. */
bool launch_env_is_recorded(const char *entry);

#endif
