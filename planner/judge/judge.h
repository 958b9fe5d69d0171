/*
 * judge: what Megatron would do with a launch: accept it, or refuse it and why,
 * with the numbers that would work. Reads the flags' slots, not a struct model:
 * a rule asks only for what it needs, so that a launch whose widths or
 * vocabulary are not stated is judged all the same. A rule whose flags are not
 * known is not judged, and that is said.
 *
 * Covered are the rules on layout, hybrid pattern and split, virtual stages,
 * sizes of parallel groups and what they share, world size, batch and
 * micro-batches, EP overlap, MTP, and the flags of versions: of
 * megatron/training/arguments.py (validate_args),
 * core/transformer/transformer_config.py, core/model_parallel_config.py,
 * core/parallel_state.py, schedules.py, num_microbatches_calculator.py at
 * core_v0.12.0 to core_v0.19.0 and main of August 2026. Rules that depend on
 * the machine (GPU, environment, versions of torch and Transformer Engine) are
 * not.
 *
 * Sized for one launch: some sixty rules, each asked once.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/core_version.h"
#include "layout/layout.h"
#include "megatron/account.h"
#include "megatron/flags.h"
#include "pattern/pattern.h"

#include <stdbool.h>
#include <stdint.h>

struct judge_question {
    const struct megatron_flags *flags;
    const struct core_version *core;
    bool launch; // all flags of a run: what is not there has its default
};

/* A rule that refuses the launch. */
struct judge_refusal {
    const char *rule;   // its name: "world", "micro-batches"
    const char *text;   // found, wanted, the numbers that would work
    const char *source; // where Megatron says so: "arguments.py validate_args"
    const struct judge_refusal *next;
};

struct judge_verdict {
    bool valid;
    const struct judge_refusal *refusals; // the first one is told first
    struct account_list warnings;         // also of rules that are not judged
    const char *text;                 // of the layout; NULL: flags of a split
    enum layout_error layout_error;   // not LAYOUT_OK: the text is refused
    enum pattern_error pattern_error; // the same of a hybrid pattern
    const struct pattern *pattern;    // that is read; NULL: no hybrid model
    const struct core_refusal *core;  // the version refuses it, or NULL
    bool has_layout;                  // of a split that is not refused
    struct layout layout;
    int64_t n_microbatches; // of a step; 0: not known
};

/* Asks all rules; *out is owned by the arena. A refusal is a verdict, not an
 * error. ERR_PARSE names every flag that decides the split and is not known,
 * with the option that gives it; ERR_RANGE a size beyond what this program
 * takes, or a model that it does not know; ERR_NOMEM. */
enum err judge(struct arena *a, const struct judge_question *q,
               struct judge_verdict *out, struct err_msg *msg);

/* Do the flags make a hybrid model? Its layout is a pattern. */
bool judge_is_hybrid(const struct megatron_flags *f);

/* Does the flag say something of layout, split or virtual stages? */
bool judge_flag_splits(enum flag_id id);

/* In place of all that the flags say of split and virtual stages: this layout.
 * ERR_NOMEM. */
enum err judge_set_layout(struct megatron_flags *f, const char *text,
                          struct err_msg *msg);

/* The same with a hybrid pattern, also in place of another one. */
enum err judge_set_pattern(struct megatron_flags *f, const char *text,
                           struct err_msg *msg);

#endif
