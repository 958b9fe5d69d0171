/*
 * result: what comes of reading a script (shell/bash.h): calls, their words,
 * and the causes of what is not known. Texts hold marks where a part is not
 * known:
 * "\x01" ID "\x02", ID being the decimal index of a struct bash_cause. A
 * variable that was never set is empty for bash, and here wherever the script
 * looks at it, but leaves a mark of kind BASH_UNSET in the words of a call, so
 * that a reader can name it.
 */
#ifndef SCRIPT_RESULT_H
#define SCRIPT_RESULT_H

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

/* What #SBATCH lines or the options of sbatch say; 0: not said, -1: said, with
 * a value that is no number. */
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

struct bash_input {
    const char *text;
    const char *name;   // the path as given, for file:line
    const char *folder; // where files are looked up; NULL: none are read
    const struct bash_setting *set; // environment given by the user
    size_t n_set;
    const char *const *args; // positional parameters
    size_t n_args;
};

#endif
