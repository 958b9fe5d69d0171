/*
 * bash: what a bash script would start, found by reading it. The text is
 * interpreted as bash would with an empty environment and the positional
 * parameters given, as far as that can be known without running anything; each
 * external command that it would start comes out with its exact words, once
 * for every way that the script may go where something is not known.
 *
 * Nothing is executed and nothing written; only regular files below the
 * script's own folder are read.
 *
 * Types of what comes out, and what marks in texts mean, are in
 * script/result.h.
 *
 * Workload: scripts of some KB, at most 1 MB each and 64 of them; hostile ones
 * end within about two seconds and 100 MB with ERR_RANGE.
 */
#ifndef SHELL_BASH_H
#define SHELL_BASH_H

#include "base/arena.h"
#include "base/err.h"
#include "script/result.h"

struct bash_result {
    const struct bash_way *way;
    size_t n_ways;
    bool all_ways; // false: too many; decisions were varied one at a time
    const struct bash_cause *cause; // index is the ID of marks
    size_t n_causes;
    const char *const *note; // assumptions, "file:line: ...", each once
    size_t n_notes;
    const char *const *missing; // "file:line: conf/sizes.sh: not found ..."
    size_t n_missing;
    struct bash_slurm slurm; // of the script's own #SBATCH lines
};

/* Reads the script. ERR_PARSE: a syntax error before the first call;
 * ERR_RANGE: a limit of time, memory, depth or calls, the line is named. A
 * syntax error behind calls ends the way (`ended`). Owned by the arena. */
enum err bash_run(struct arena *a, const struct bash_input *in,
                  struct bash_result *out, struct err_msg *msg);

/* The cause of the first mark in a text; NULL where there is none. */
const struct bash_cause *bash_first_cause(const struct bash_result *r,
                                          const char *text);

/* What is not known, for people: the script's text, why, and how to give it
 * where it is a variable or an argument: "$TP: never set (--set TP=VALUE)".
 * NULL when out of memory. */
const char *bash_cause_text(struct arena *a, const struct bash_cause *c);

/* The text for people, marks as the script writes them: "$(hostname)". NULL
 * when out of memory. */
const char *bash_show(struct arena *a, const struct bash_result *r,
                      const char *text);

#endif
