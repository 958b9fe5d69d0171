/*
 * manifest: one experiment as its file describes it (moe-bench/experiment/1):
 * which model, split and batch, on which launcher, which layouts to measure
 * and how often. Reads strictly: an unknown, doubled, missing or mistyped key
 * is an error that names file, key, what was found and what is wanted.
 *
 * One with a section `plan` measures nothing: it compares layouts by the
 * planner alone (planning.h), and needs no launcher, iterations or layouts to
 * measure.
 *
 * Plain data, owned by the arena. Sized for a few dozen measured layouts.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "megatron/overrides.h"
#include "model/model.h"
#include "planning.h"
#include "role.h"

#include <stdbool.h>
#include <stdint.h>

struct manifest_measure {
    enum role role;
    const char *layout;  // of ROLE_LAYOUT, else NULL
    bool standalone_mtp; // of ROLE_PICK: m may sit on a stage of its own
};

/* A list of words or of lines; n of them. */
struct words {
    const char *const *word;
    int n;
};

struct manifest_pair {
    const char *key, *value; // the value as text; numbers as written
};

struct manifest_hardware {
    const char *gpu;           // name of the device, or NULL
    int64_t count, nodes;      // 0: not given
    double hbm_gb;             // GiB a device, 0: no memory limit
    double memory_margin_pct;  // kept free above predicted peaks
    double price_usd_per_hour; // of all devices together, 0: not known
};

struct manifest_launcher {
    const char *kind;       // checked by launch
    const char *clock;      // "wall", "cpu", "flops", or NULL: the kind's own
    const char *platform;   // SMPI platform file, or NULL: ours
    struct words command;   // of kind `command`: words before the trainer
    const char *rendezvous; // torchrun over several nodes: host:port
    const char *partition, *account; // slurm
    struct words modules;            // loaded in a job's script
    struct words mounts; // container mounts (slurm), volumes (hf-jobs)
    struct words lines;  // put into a job's script; #SBATCH into its head
    struct words env;    // NAME=value for the trainer
    const char *flavor, *namespace, *results; // hf-jobs; results: a bucket
    bool per_experiment; // one job for the experiment, not one a run
    double poll_s;       // between two questions to the job system
};

struct manifest_trainer {
    enum trainer_kind kind;
    const char *commit, *container; // or NULL
    const char *entry;              // program or script, or NULL: ours
    struct words args;              // added to its flags
};

/* id, key, what is bounded. Errors are absolute values; summary checks them. */
#define ACCEPT_TABLE(X)                                                        \
    X(ACCEPT_STEP, "step_error_pct", "step error of the pick (%)")             \
    X(ACCEPT_REPLAY, "replay_error_pct", "replay error of the pick (%)")       \
    X(ACCEPT_SPEEDUP, "speedup_vs_default", "speedup of the pick")             \
    X(ACCEPT_MEAN_STEP, "mean_step_error_pct",                                 \
      "mean step error of all layouts (%), or twice the noise")                \
    X(ACCEPT_MAX_STEP, "max_step_error_pct", "step error of any layout (%)")   \
    X(ACCEPT_MAX_REPLAY, "max_replay_error_pct",                               \
      "replay error of any layout (%)")                                        \
    X(ACCEPT_MAX_MEMORY, "max_memory_error_pct",                               \
      "memory error of any stage (%)")                                         \
    X(ACCEPT_WITHIN_BEST, "pick_within_best_pct",                              \
      "pick slower than the fastest (%), or within noise")

enum accept_bound {
#define ACCEPT_ENUM(id, key, what) id,
    ACCEPT_TABLE(ACCEPT_ENUM)
#undef ACCEPT_ENUM
        N_ACCEPT
};

/* Bounds on the results; NAN where not given. */
struct manifest_accept {
    double bound[N_ACCEPT];
};

// rounds x layouts x minutes bound the layouts that are measured
enum { MANIFEST_MAX_MEASURE = 64 };

struct manifest {
    const char *path, *dir; // of the file; its folder
    char sha256[TEXT_SHA256_HEX];
    struct text_span text; // the file itself, for the run folders
    const char *name, *question;
    const char *model_path;     // as written, or NULL
    const char *model_json;     // of an inline model, or NULL
    struct overrides overrides; // parallel, batch, trainer.core, hardware.gpu
    bool ep_overlap; // of parallel: measured runs' order, not profile runs'
    struct manifest_hardware hardware;
    struct manifest_launcher launcher;
    struct manifest_trainer trainer;
    int warmup, count; // iterations of each run
    int profile_count; // the same of profile runs; `count` unless given
    int rounds;
    int profile_runs;             // how many, when the planner chooses them
    struct words profile_layouts; // or these
    int profile_timers;           // timing log level of profile runs
    const struct manifest_measure *measure;
    int n_measure;
    struct planning planning;  // n_ways 0: an experiment that is measured
    const char *costs_from;    // an experiment's name, or NULL
    double run_limit_s;        // a run is killed after this long
    double experiment_limit_s; // no run starts that could pass it, 0: none
    double hang_steps; // a log silent for so many of its longest steps hangs
    double hang_s;     // and for at least so long
    double budget_usd; // 0: none; only with a price
    struct manifest_accept accept;
    const struct manifest_pair *published, *assumed;
    int n_published, n_assumed;
};

/* Reads a manifest of at most 1 MB. ERR_PARSE or ERR_RANGE with one line. */
enum err manifest_read(struct arena *a, const char *path, struct manifest *out,
                       struct err_msg *msg);

/* Iterations that one run makes, warm-up included. */
int manifest_n_iterations(const struct manifest *mf, bool profile);

/* True for a manifest that plans only. */
bool manifest_plans_only(const struct manifest *mf);

/* True when an hour's price is given, so that costs are known. */
bool manifest_has_price(const struct manifest *mf);

/* True when some layout to measure has the role. */
bool manifest_has_role(const struct manifest *mf, enum role role);

#endif
