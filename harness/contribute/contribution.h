/*
 * contribution: step times from one kind of hardware while they are being
 * gathered: runs of layouts of one model, from logs, from an experiment's
 * folder or typed in, with what has to be told beside them. What makes one is
 * in `sources`, what is asked of it in `checks`, what is written in `pack`.
 *
 * Seconds and bytes; texts are owned by the arena. Sized for some hundred runs.
 */
#ifndef CONTRIBUTE_CONTRIBUTION_H
#define CONTRIBUTE_CONTRIBUTION_H

#include "cost/card.h"
#include "doctor/findings.h"
#include "layout/core_version.h"
#include "log/parse.h"
#include "megatron/args.h"
#include "model/model.h"
#include "removed.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>

/* identifier, name in manifests, what the runs come from */
#define CONTRIBUTION_FROM_TABLE(X)                                             \
    X(CONTRIBUTION_LOGS, "logs", "logs of runs")                               \
    X(CONTRIBUTION_EXPERIMENT, "experiment", "the folder of an experiment")    \
    X(CONTRIBUTION_TYPED, "typed", "step times typed in")

enum contribution_from {
#define CONTRIBUTION_ENUM(id, name, help) id,
    CONTRIBUTION_FROM_TABLE(CONTRIBUTION_ENUM)
#undef CONTRIBUTION_ENUM
        N_CONTRIBUTION_FROM
};

/* A run of one layout. */
struct contribution_run {
    const char *id;     // "run-01"
    const char *name;   // of the log or the layout as given: for messages
    const char *layout; // as one writes it
    struct layout parsed;
    struct model model;
    bool profile;            // with timers on: kept, but no figure to fit
    double step_s, q25, q75; // median and quartiles; NAN: not known
    int n_used, n_dropped;   // lines of the log; 0 used: not known
    int span;                // iterations that a line is the mean of
    const struct findings *findings; // of its log's iterations, or NULL
    double printed_tflops;           // of a GPU, as the log has it; NAN
    int64_t peak_bytes;              // the fullest rank's, 0: no memory line
    bool has_timers;                 // a time of every rank
    bool is_timed;    // its timers are those that lengthen a step
    const char *role; // of an experiment, or NULL
    int round;
    const char *stat;          // how step_s was made: "median of 40 iterations"
    struct text_span redacted; // the log; data NULL: none, or not kept
    const char *why_no_log;    // or NULL
    char log_sha256[TEXT_SHA256_HEX]; // of the original; "" without one
};

/* A run that gave no step time, which is told all the same. */
struct contribution_lost {
    const char *what, *why; // "pick, round 2"; "failed"
};

struct contribution {
    struct arena *arena;
    enum contribution_from from;
    const char *gpu;         // as the folder's name has it: "h100", "cpu"
    const struct card *card; // NULL: not in the table
    const struct core_version *core;
    const char *source, *clock; // "measured", "emulated"; "wall", "cpu", ...
    const char *date;           // 2026-12-01
    const char *name;           // of the folder, once it is chosen, or NULL
    bool example;
    int n_gpus, gpus_per_node;  // 0: not stated
    struct megatron_args *args; // of the model, without a layout
    struct contribution_run *run;
    int n;
    struct contribution_lost *lost;
    int n_lost, n_absent; // of these, planned ones that are nowhere
    int n_changes;        // flags of a run that change the model and are not
                          // understood: those of the run with most
    int64_t n_series;     // runs that were made in all; 0: not stated
    bool is_planned;      // an experiment says which runs there must be
    struct removed removed;
};

/* "logs", "typed" and so on, as in manifest.json; a static text. */
const char *contribution_from_name(enum contribution_from f);

/* Starts one; `gpu` is a card's name, "cpu", or another plain name. ERR_RANGE
 * for a name or version that is none. */
struct contribution_begin {
    const char *gpu, *core;
    bool example;
};
enum err contribution_init(struct arena *a, const struct contribution_begin *b,
                           struct contribution *out, struct err_msg *msg);

/* Sets the card by its name. ERR_RANGE for one that is no plain name. */
enum err contribution_gpu(struct contribution *c, const char *gpu,
                          struct err_msg *msg);

/* The next run, to be filled, with its id. ERR_RANGE beyond 512 of them,
 * ERR_NOMEM. */
enum err contribution_add(struct contribution *c, struct contribution_run **out,
                          struct err_msg *msg);

/* How the run's step time was made, by n_used, span and n_dropped: "median of 9
 * means of 5 iterations, 2 dropped". */
enum { CONTRIBUTION_STAT_BYTES = 96 };
void contribution_stat(const struct contribution_run *r,
                       char out[CONTRIBUTION_STAT_BYTES]);

/* Reads the run's model from `args` with `layout` (NULL: theirs, or Megatron's
 * default split) and judges it as Megatron of c->core would. ERR_MODEL for what
 * Megatron refuses, ERR_RANGE for another model than that of the runs before,
 * ERR_PARSE for what is missing, with the option that gives it. */
enum err contribution_judge(struct contribution *c,
                            const struct megatron_args *args,
                            const char *layout, struct contribution_run *r,
                            struct err_msg *msg);

/* "fp8", "bf16", "fp16" or "fp32": what units multiply in. */
const char *contribution_precision(const struct megatron_flags *f);

/* The folder's name: as chosen, or "h100-8x-2026-12-01"; NULL when out of
 * memory. */
const char *contribution_name(const struct contribution *c);

/* Notes a run without a step time. Errors as above. */
enum err contribution_lose(struct contribution *c, const char *what,
                           const char *why, struct err_msg *msg);

#endif
