/*
 * launcher: what a job system is to the harness: a name, how its command line
 * begins, what it needs on this machine, and, where it takes jobs away from
 * this process, five functions for a job's life. A new system is one file
 * with such a table, and a line in launch.c.
 *
 * A launcher without `start` runs its command as a child of the harness (see
 * supervise): its life needs no functions.
 */
#ifndef LAUNCH_LAUNCHER_H
#define LAUNCH_LAUNCHER_H

#include "base/arena.h"
#include "base/err.h"
#include "manifest/machine.h"
#include "manifest/manifest.h"
#include "manifest/workload.h"
#include "words.h"

#include <stdbool.h>

/* One layout to start. */
struct launch_request {
    const struct manifest *manifest;
    const struct workload *workload;
    const struct machine *machine;
    const char *layout;   // NULL: not known yet, a mark is put in its place
    bool profile;         // timers on
    const char *ops_path; // where moe-train records operations, NULL: nowhere
};

struct launcher;

struct launch {
    const char *launcher; // name; never "auto"
    const struct launcher *by;
    const char *clock;    // "wall", "cpu", "flops"
    const char *source;   // "measured" or "emulated"
    struct words argv;    // what runs the trainer, where it runs
    struct words env;     // NAME=value, added to the environment
    const char *binary;   // trainer program or script; its bytes are hashed
    const char *platform; // SMPI platform file, else NULL
    int n_ranks, timers;
    bool inside; // this process is in the job: argv is its child
};

/* A job of a job system, or about to be one. */
struct launch_job {
    const char *name;   // unique to the run; what a lost job is found by
    const char *folder; // of its script and log, absolute
    const char *log;    // absolute
    double limit_s;     // what the job system is told
    const struct manifest *manifest;
    struct words argv, env;
    int n_ranks;
    const char *id; // NULL: not started, or not known
};

/* id, whether the job is over */
#define JOB_STATE_TABLE(X)                                                     \
    X(JOB_WAITING, false)                                                      \
    X(JOB_RUNNING, false)                                                      \
    X(JOB_ENDED, true)                                                         \
    X(JOB_FAILED, true)                                                        \
    X(JOB_CANCELLED, true)                                                     \
    X(JOB_OVER_TIME, true)                                                     \
    X(JOB_LOST, true)

enum job_state {
#define JOB_STATE_ENUM(id, over) id,
    JOB_STATE_TABLE(JOB_STATE_ENUM)
#undef JOB_STATE_ENUM
};

struct job_view {
    enum job_state state;
    int exit_code;    // of a job that ended, else -1
    const char *word; // the system's own, for messages
    double ran_s;     // that the system says it has run, 0: it does not
};

struct launcher {
    const char *name, *help;
    const char *clock;  // its own
    const char *deps;   // programs it needs, blanks between, or NULL
    const char *next;   // what to do when one is missing
    bool remote;        // the trainer lies elsewhere: it is not looked for
    bool virtual_time;  // a simulator's clock, never the wall's; it takes a
                        // platform file and the trainer built for it
    bool any_clock;     // what its words start may have either kind of clock
    const char *in_job; // variable that the system itself sets inside a job
    void (*prefix)(struct build *b, const struct launch_request *req,
                   const struct launch *l);
    /* Beyond `deps`: version, login, keys of the manifest; may be NULL. */
    enum err (*check)(struct arena *a, const struct manifest *mf,
                      struct err_msg *msg);
    /* The job's script (`text`, which --dry-run prints too), and the words
     * that hand it to the system. Starts and writes nothing. */
    enum err (*prepare)(struct arena *a, const struct launch_job *job,
                        const char **text, struct words *submit,
                        struct err_msg *msg);
    /* From what `submit` printed, or from its name, to a job's id; *id is
     * NULL when there is no such job. */
    enum err (*start)(struct arena *a, const char *printed, const char **id,
                      struct err_msg *msg);
    enum err (*find)(struct arena *a, const struct launch_job *job,
                     const char **id, struct err_msg *msg);
    enum err (*poll)(struct arena *a, const struct launch_job *job,
                     struct job_view *out, struct err_msg *msg);
    enum err (*cancel)(struct arena *a, const struct launch_job *job,
                       struct err_msg *msg);
    /* Brings the log (and results) here, as far as there is one. */
    enum err (*collect)(struct arena *a, const struct launch_job *job,
                        struct err_msg *msg);
};

bool job_state_is_over(enum job_state s);

/* Runs a short command (300 s at most), its output to `path`, and reads that.
 * *code is its exit status, -1 for a signal. ERR_CHILD when it cannot be
 * started or is too slow. */
struct capture {
    const char *text;
    int code;
};
enum err launcher_capture(struct arena *a, const struct words *w,
                          const char *path, struct capture *out,
                          struct err_msg *msg);

/* The same, of which only success matters; the error quotes its last line. */
enum err launcher_call(struct arena *a, const struct words *w, const char *path,
                       const char **text, struct err_msg *msg);

/* Last line of a text that is not blank, "" when there is none. */
const char *launcher_last_line(struct arena *a, const char *text);

/* The path from the root, NULL when that cannot be known. */
const char *launcher_absolute(struct arena *a, const char *path);

/* Nodes of the manifest, at least 1. */
int64_t launcher_nodes(const struct manifest *mf);

/* Whether the trainer is Megatron at trainer.commit, in the folder
 * LAUNCHER_CHECKOUT of the working directory. */
#define LAUNCHER_CHECKOUT "megatron-lm"
bool launcher_checks_out(const struct manifest *mf);

/* What a job's script tells of itself in its log begins so. */
#define LAUNCHER_MARK "moe-bench: "
#define LAUNCHER_GPU_QUERY                                                     \
    "--query-gpu=name,driver_version,clocks.max.sm,clocks.max.memory,"         \
    "power.limit"

/* Lines of a script that every system shares: modules, environment, extra
 * lines, the checkout of Megatron where trainer.commit asks for one, and the
 * command. */
const char *launcher_script_body(struct arena *a, const struct launch_job *job);

/* ERR_PARSE for the first word of a job that must not stand in a script or on
 * the command line that hands it over, with where it comes from; each prepare()
 * asks first. Words are quoted besides. */
enum err launcher_check_words(const struct launch_job *job,
                              struct err_msg *msg);

#endif
