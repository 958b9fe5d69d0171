/*
 * translate: a GPT layout as a hybrid pattern and a pattern as a GPT layout. A
 * GPT layer is two symbols, attention and MLP or experts; E and L are the ends
 * of a pattern, m its parts behind slashes. What one form can say and the other
 * cannot is told by name: a hybrid model has MTP with the loss only, a GPT
 * model no cut inside a layer.
 *
 * Layers are counted as each form counts them: n here are 2n there, so an index
 * of a layer doubles. Sized for patterns of some KB.
 */
#ifndef PATTERN_TRANSLATE_H
#define PATTERN_TRANSLATE_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/layout.h"
#include "model/model.h"
#include "pattern.h"

#include <stdbool.h>

/* identifier, name (as in `translate --batch`), explanation; those of a layout
 * first. */
#define TRANSLATE_ERROR_TABLE(X)                                               \
    X(TRANSLATE_OK, "", "translated")                                          \
    X(TRANSLATE_MTP, "mtp_not_with_loss",                                      \
      "MTP of a hybrid model always stands with the loss: a layout with m "    \
      "elsewhere has no pattern")                                              \
    X(TRANSLATE_FIRST, "embedding_not_first",                                  \
      "a hybrid model has its embedding in the first stage")                   \
    X(TRANSLATE_LAST, "loss_not_last",                                         \
      "a hybrid model has its loss in the last stage")                         \
    X(TRANSLATE_NO_LAYERS, "no_layers", "a pattern wants a layer")             \
    X(TRANSLATE_NOT_GPT, "not_gpt_layers",                                     \
      "a GPT layer is attention (* + D G) and then MLP or experts (- E), and " \
      "nothing else")                                                          \
    X(TRANSLATE_MIXED, "mixed_attention",                                      \
      "a GPT model has one sort of attention (G may stand beside *)")          \
    X(TRANSLATE_MTP_DIFFERS, "mtp_not_last_layer",                             \
      "MTP of a GPT model is built like its last layer")                       \
    X(TRANSLATE_CUT, "cut_inside_layer",                                       \
      "a segment ends between attention and MLP: a GPT model has no such cut") \
    X(TRANSLATE_NO_MEMORY, "out_of_memory", "nothing is known")

enum translate_error {
#define TRANSLATE_ENUM(name, id, text) name,
    TRANSLATE_ERROR_TABLE(TRANSLATE_ENUM)
#undef TRANSLATE_ENUM
};

/* The name as in `translate --json`, "" for TRANSLATE_OK. A static text. */
const char *translate_error_id(enum translate_error e);

/* What a GPT layout leaves open: two strings of one letter a layer. */
struct gpt_layers {
    const char *moe;       // d dense, e experts
    const char *attention; // * + D G
};

/* The pattern of a valid layout whose layers are described; *out is owned by
 * the arena. Where there is none `msg` says why and *out is untouched. */
enum translate_error translate_to_pattern(struct arena *a,
                                          const struct layout *l,
                                          const struct gpt_layers *layers,
                                          const char **out,
                                          struct err_msg *msg);

/* The GPT layout of a pattern that covers its layers, with what its layers
 * are. */
enum translate_error translate_to_layout(struct arena *a,
                                         const struct pattern *p,
                                         struct layout *out,
                                         struct gpt_layers *layers,
                                         struct err_msg *msg);

/* Is a text that names a layout of a hybrid model that of a GPT model? A
 * pattern has none of its letters t m L. */
bool translate_is_gpt(const char *text);

/* Are the symbols those of a GPT model, attention and MLP or experts in turn?
 */
bool translate_has_pairs(const char *symbols);

/* A layout of a hybrid model as users give one, on its m->par.pp ranks: its
 * pattern with bars or, where its symbols are pairs that a GPT layer has, a GPT
 * layout, one t a pair. ERR_RANGE with what is wrong with the text, or why it
 * has no translation; ERR_NOMEM. Layouts of GPT models are read as ever. */
enum err translate_read(struct arena *a, const char *text,
                        const struct model *m, struct layout *out,
                        struct err_msg *msg);

/* Stages with bars between, nothing shortened: "Ett|tmL". NULL when out of
 * memory. */
const char *translate_plain(struct arena *a, const struct layout *l);

/* A string of two letters as the list that --moe-layer-freq takes, 1 where the
 * letter is `one`: "([0]*3+[1]*58)". NULL when out of memory. */
const char *translate_freq(struct arena *a, const char *letters, char one);

#endif
