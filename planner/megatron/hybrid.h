/*
 * hybrid: what the pattern of a hybrid model (--hybrid-layer-pattern, or the
 * older --hybrid-override-pattern) says in place of other flags: layers, MTP
 * depths and virtual stages; latent attention where it has + or D
 * (validate_args() in megatron/training/arguments.py). The pattern's own
 * rules, and where its bars cut, are judged elsewhere: here a model is read
 * that may then be cut in any way.
 *
 * Sized for patterns of some thousand letters.
 */
#ifndef MEGATRON_HYBRID_H
#define MEGATRON_HYBRID_H

#include "account.h"
#include "base/arena.h"
#include "base/err.h"
#include "flags.h"
#include "layout/layout.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct megatron_hybrid {
    const char *text;    // the whole, MTP parts included; NULL: a GPT model
    const char *symbols; // of all segments, without bars
    const char *mtp;     // of one MTP depth, NULL: no MTP
    int n_layers, n_depths, n_segments;
};

/* The flag that gives the pattern, FLAG_NONE where none does. */
enum flag_id hybrid_flag(const struct megatron_flags *f);

/* The pattern as it was given; NULL where there is none or it is not known. */
const char *hybrid_text_of(const struct megatron_flags *f);

/* Where the flags say the stages: a pattern with bars, of a GPT model the
 * layout; NULL where others decide. */
const char *hybrid_stages_text(const struct megatron_flags *f);

/* The flag that says the stages of this model. */
enum flag_id hybrid_layout_flag(const struct model *m);

/* What stands between that flag and its value: argparse takes a value that
 * begins with '-', an MLP, for a flag unless '=' is before it. */
const char *hybrid_flag_joint(const char *layout);

/* Reads the pattern; owned by the arena. ERR_PARSE for another letter,
 * ERR_RANGE for what no model can be built of: no layer, MTP parts that differ,
 * attention with and without latents, two patterns, a hybrid model without
 * one. A model without a pattern has all members 0. */
enum err hybrid_read(struct arena *a, const struct megatron_flags *f,
                     struct megatron_hybrid *out, struct err_msg *msg);

/* A copy of the flags in which the pattern has spoken: --num-layers and
 * --mtp-num-layers are its own, --multi-latent-attention is on where it needs
 * it. Of a pattern that is not known the layers are not known, either; the
 * same flags where there is none. Errors as above. */
enum err hybrid_settle(struct arena *a, const struct megatron_flags *f,
                       struct megatron_hybrid *h, struct megatron_flags *out,
                       struct err_msg *msg);

/* Sets symbols, MTP and Mamba's sizes of a model of n_layers layers whose
 * experts were read, and layer_moe; ERR_RANGE where a symbol's flags are
 * missing or ranks cannot share its parts. */
enum err hybrid_set_model(const struct megatron_hybrid *h,
                          const struct megatron_flags *f, struct model *m,
                          struct err_msg *msg);

/* The layout that the pattern itself is for `pp` ranks: its segments, or
 * Megatron's split of one without bars. ERR_RANGE with the rule that refuses
 * it, or where its segments do not cover the layers; ERR_NOMEM. There must be a
 * pattern. */
enum err hybrid_layout(struct arena *a, const struct megatron_flags *f, int pp,
                       struct layout *out, struct err_msg *msg);

/* Takes the bars out of the pattern, for a split of one's own. Short of memory
 * the pattern is no longer known. */
void hybrid_drop_bars(struct megatron_flags *f);

/* Is --spec the stack of layers that Megatron itself has for patterns? */
bool hybrid_has_own_spec(const struct megatron_flags *f);

/* Writes the pattern that older Megatron makes of the ratios of its layers
 * (--hybrid-attention-ratio, --hybrid-mlp-ratio) where no other is given, and
 * says so. ERR_RANGE for ratios that are none; ERR_NOMEM. */
enum err hybrid_of_ratios(struct megatron_flags *f, struct account *to,
                          struct err_msg *msg);

/* Was the pattern made so, and written by nobody? */
bool hybrid_is_of_ratios(const struct megatron_flags *f);

/* ERR_RANGE where the older flag's pattern has other numbers of layers than the
 * ratios, which Megatron up to core 0.16 refuses; ERR_NOMEM. */
enum err hybrid_check_ratios(const struct megatron_flags *f,
                             struct err_msg *msg);

/* Warns of flags that the pattern overrides and of the older flag. */
void hybrid_say(struct account *to, const struct megatron_flags *f);

#endif
