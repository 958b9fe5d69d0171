/*
 * launch: from an experiment and a layout to the exact words that start one
 * run, per job system, and the environment it gets. Starts nothing itself.
 *
 * A launcher that can be named but not run yet is listed all the same, so that
 * --dry-run shows its command.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "arena.h"
#include "err.h"
#include "machine.h"
#include "manifest.h"
#include "workload.h"

#include <stdbool.h>
#include <stdio.h>

/* One layout to start. */
struct launch_request {
    const struct manifest *manifest;
    const struct workload *workload;
    const struct machine *machine;
    const char *layout;   // NULL: not known yet, a mark is put in its place
    bool profile;         // timers on
    const char *ops_path; // where moe-train records operations, NULL: nowhere
};

struct launch {
    const char *launcher; // never "auto"
    const char *clock;    // "wall", "cpu", "flops"
    const char *source;   // "measured" or "emulated"
    struct words argv;
    struct words env;     // NAME=value, added to the environment
    const char *binary;   // trainer program or script; its bytes are hashed
    const char *platform; // SMPI platform file, else NULL
    bool can_run;         // false: only --dry-run knows this launcher yet
    int n_ranks, timers;
};

/* The words of one run. ERR_PARSE names the known launchers. */
enum err launch_build(struct arena *a, const struct launch_request *req,
                      struct launch *out, struct err_msg *msg);

/* ERR_CHILD with what to install or build when a run cannot start here. */
enum err launch_check(struct arena *a, const struct launch *l,
                      struct err_msg *msg);

/* The program's path when it can be executed: as it stands when it has a
 * slash, else along PATH; NULL when there is none. */
const char *launch_find_program(struct arena *a, const char *name);

/* Prints words so that a shell reads the same words again. */
void launch_print_words(FILE *out, const struct words *w);

/* "name  help" lines of the launcher table. */
void launch_print_help(FILE *out);

/* The whole environment of a run: this process' own with `add` on top, as
 * posix_spawn wants it; NULL when out of memory. */
char **launch_environment(struct arena *a, const struct words *add);

/* Words as posix_spawn wants them, NULL-terminated copies; NULL when out of
 * memory. */
char **launch_argv(struct arena *a, const struct words *w);

/* The part of an environment that is recorded with a run (an allow-list of
 * names that can change its speed). */
bool launch_env_is_recorded(const char *entry);

#endif
