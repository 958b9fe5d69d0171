/*
 * core_version: what each version of Megatron core accepts of layouts and how
 * it logs, where versions differ (megatron/training/arguments.py,
 * core/transformer/transformer_config.py,
 * pipeline_parallel_layer_layout.py and the list of layers of hybrid models,
 * mamba_hybrid_layer_allocation.py and later hybrid_layer_allocation.py, at the
 * tags core_v0.12.0 to core_v0.19.0 and on main in August 2026, which becomes
 * 0.20).
 *
 * "dev" is main with what open pull requests of Megatron-LM propose for GPT
 * layouts: 5318, several L: the losses of the main model and of each MTP depth
 * on several stages; 5329, m on several ranks. Of 5318 only its description is
 * known here, of 5329 its code.
 */
#ifndef LAYOUT_CORE_VERSION_H
#define LAYOUT_CORE_VERSION_H

#include "base/err.h"
#include "layout.h"

#include <stdbool.h>

/* What a version does with m in a layout. */
enum core_mtp {
    CORE_MTP_REFUSED,
    CORE_MTP_UNCHECKED, // must be with L, but the assertion never fires
    CORE_MTP_WITH_LOSS, // must be in the last stage, with L
    CORE_MTP_ANYWHERE
};

struct core_version {
    const char *name; // "0.16"
    int minor;        // 16; of dev that of main
    bool has_layout;  // --pipeline-model-parallel-layout
    enum core_mtp mtp;
    const char *symbols; // layers of hybrid models
    bool has_pattern;    // --hybrid-layer-pattern, with bars and slashes
    bool proposals;      // what open pull requests would accept, too
    // the logits of MTP passes are let go before the main pass: they are local
    // to process_mtp_loss() (0.17), once to the function of both
    bool frees_mtp_logits;
};

/* Version of that name, with or without a patch level ("0.16", "0.16.1");
 * NULL: 0.16. ERR_RANGE names the known ones. */
enum err core_version_find(const char *name, const struct core_version **out,
                           struct err_msg *msg);

/* The one that hybrid patterns are judged by where none was asked for: 0.19,
 * the first with all symbols. */
const struct core_version *core_version_of_patterns(void);

/* layout_validate() as the version has it: the same, but for dev. */
enum layout_error core_version_validate(const struct core_version *v,
                                        const struct layout *l, int n_layers,
                                        int n_mtp, struct err_msg *msg);

/* Whether a valid layout may have m on a stage without L. */
bool core_version_parts_mtp(const struct core_version *v);

/* Why the version refuses a layout that is valid otherwise: in Megatron's
 * words and in plain ones. False when it accepts it. */
struct core_refusal {
    const char *megatron, *plain;
};
bool core_version_refuses(const struct core_version *v, const struct layout *l,
                          struct core_refusal *out);

#endif
