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
 * Texts hold marks where a part is not known: "\x01" ID "\x02", ID being the
 * decimal index of a struct bash_cause. A variable that was never set is empty
 * for bash, and here wherever the script looks at it, but leaves a mark of kind
 * BASH_UNSET in the words of a call, so that a reader can name it.
 *
 * Workload: scripts of some KB, at most 1 MB each and 64 of them; hostile ones
 * end within about two seconds and 100 MB with ERR_RANGE.
 */
#ifndef SHELL_BASH_H
#define SHELL_BASH_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BASH_MARK = '\x01', BASH_MARK_END = '\x02' };

enum bash_cause_kind {
    BASH_UNKNOWN, // only running could tell: $(hostname), $RANDOM
    BASH_UNSET    // a variable or positional that was never set
};

struct bash_cause {
    enum bash_cause_kind kind;
    const char *text; // as the script writes it: "$(hostname)", "$NNODES"
    const char *file;
    int line;
    const char *why; // "only running it could tell"
};

struct bash_word {
    const char *text; // with marks
    const char *file;
    int line;
    // a mark that stood outside of quotes: it may be no word or several
    bool unquoted_mark;
};

struct bash_setting {
    const char *name, *value;
};

/* What #SBATCH lines or the options of sbatch say; 0: not said. */
struct bash_slurm {
    bool is_job; // there were any
    int64_t nodes, tasks, tasks_per_node, gpus_per_node, cpus_per_task;
    bool says_gpus_per_node; // by --gpus-per-node, not by --gres
};

/* An external command that would be started. */
struct bash_call {
    const char *file; // of the command's first word
    int line;
    const struct bash_word *word; // program and arguments
    size_t n;
    const struct bash_setting *env; // prefixes and exported variables
    size_t n_env;
    // srun, mpirun, sbatch, nohup ... through which the script that holds this
    // command was started, the innermost first; NULL: none
    const struct bash_call *outer;
    struct bash_slurm slurm; // of the job that holds the command
    bool captured;           // inside $(...): its output is what is wanted
};

/* Something that was not known, and the side that this way took. */
struct bash_decision {
    const char *text, *file;
    int line;
    bool taken; // the condition held (of a case: the first pattern)
    int side;   // 0 where taken; of a case, which pattern
};

struct bash_way {
    const struct bash_call *call;
    size_t n_calls;
    const struct bash_decision *decision;
    size_t n_decisions;
    const char *ended; // why the script ended before its last line, or NULL
    int ended_line;
};

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

struct bash_input {
    const char *text;
    const char *name;   // the path as given, for file:line
    const char *folder; // where files are looked up; NULL: none are read
    const struct bash_setting *set; // environment given by the user
    size_t n_set;
    const char *const *args; // positional parameters
    size_t n_args;
};

/* Reads the script. ERR_PARSE: a syntax error before the first call;
 * ERR_RANGE: a limit of time, memory, depth or calls, the line is named. A
 * syntax error behind calls ends the way (`ended`). Owned by the arena. */
enum err bash_run(struct arena *a, const struct bash_input *in,
                  struct bash_result *out, struct err_msg *msg);

/* The cause of the first mark in a text; NULL where there is none. */
const struct bash_cause *bash_first_cause(const struct bash_result *r,
                                          const char *text);

/* The text for people, marks as the script writes them: "$(hostname)". NULL
 * when out of memory. */
const char *bash_show(struct arena *a, const struct bash_result *r,
                      const char *text);

#endif
