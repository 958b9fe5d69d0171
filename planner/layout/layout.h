/*
 * layout: units to stages, in Megatron's own grammar
 * (--pipeline-model-parallel-layout). Stage s = v*PP + r is chunk v of rank r.
 *
 * The parser follows Megatron's two regular-expression passes literally,
 * quirks included, over Unicode code points; the validator makes its checks in
 * its order. Sized for strings of a few KB and some thousand units.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

#include <stdbool.h>

/* name (as in `check --batch`), explanation */
#define LAYOUT_ERROR_TABLE(X)                                                  \
    X(LAYOUT_OK, "", "valid")                                                  \
    X(LAYOUT_BAD_CHAR, "bad_char", "only E t m L may stand in a stage")        \
    X(LAYOUT_TOO_LARGE, "too_large", "the string expands beyond the cap")      \
    X(LAYOUT_NOT_DIVISIBLE, "not_divisible",                                   \
      "the number of stages must be a multiple of the pipeline size")          \
    X(LAYOUT_EMPTY, "empty_layout", "no stage holds a unit")                   \
    X(LAYOUT_FIRST_NOT_E, "first_not_E", "the first unit must be E")           \
    X(LAYOUT_LAST_NOT_L, "last_not_L", "the last unit must be L")              \
    X(LAYOUT_E_COUNT, "E_count", "there must be exactly one E")                \
    X(LAYOUT_L_COUNT, "L_count", "there must be exactly one L")                \
    X(LAYOUT_T_COUNT, "t_count", "one t for each decoder layer")               \
    X(LAYOUT_M_COUNT, "m_count", "one m for each MTP layer")                   \
    X(LAYOUT_T_AFTER_M, "t_after_m", "no t may follow an m")                   \
    X(LAYOUT_M_NOT_LAST_VPP, "m_not_last_vpp",                                 \
      "m must be in the last chunk of its rank")                               \
    X(LAYOUT_M_SPLIT, "m_split", "all m must be in one stage")                 \
    X(LAYOUT_NO_MEMORY, "out_of_memory", "nothing is known of the layout")

enum layout_error {
#define LAYOUT_ENUM(name, id, text) name,
    LAYOUT_ERROR_TABLE(LAYOUT_ENUM)
#undef LAYOUT_ENUM
};

struct layout {
    int pp, vpp, n_stages; // n_stages = pp * vpp
    const char **units;    // n_stages strings of the letters E t m L
};

struct layout_counts {
    int n_embedding, n_layers, n_mtp, n_loss;
};

const char *layout_error_id(enum layout_error e);
const char *layout_error_text(enum layout_error e);

/* Expands and splits `text`. On LAYOUT_OK *out is owned by the arena; on
 * LAYOUT_BAD_CHAR, LAYOUT_TOO_LARGE, LAYOUT_NOT_DIVISIBLE or LAYOUT_NO_MEMORY
 * *out is untouched and `msg` says what was found. `pp` >= 1. */
enum layout_error layout_parse(struct arena *a, const char *text, int pp,
                               struct layout *out, struct err_msg *msg);

/* The first of Megatron's checks that fails, with found and wanted in `msg`. */
enum layout_error layout_validate(const struct layout *l, int n_layers,
                                  int n_mtp, struct err_msg *msg);

/* A layout's string and what it is to be a layout of. */
struct layout_question {
    const char *text;
    int pp, n_layers, n_mtp;
};

/* Both, as a fallible function for callers that want a valid layout:
 * ERR_RANGE with a message that quotes the string, ERR_NOMEM. */
enum err layout_read_question(struct arena *a, const struct layout_question *q,
                              struct layout *out, struct err_msg *msg);

/* The same for the model's layers on its m->par.pp ranks. For a hybrid model
 * `text` is a pattern with its stages, see symbols.h. */
enum err layout_read(struct arena *a, const char *text, const struct model *m,
                     struct layout *out, struct err_msg *msg);

/* The layout with n_layers[s] decoder layers in stage s, E in the first stage
 * and n_mtp m and L in the last. The caller has set out->pp, vpp and n_stages;
 * the units are owned by the arena. ERR_NOMEM is the only error. */
enum err layout_from_counts(struct arena *a, const int *n_layers, int n_mtp,
                            struct layout *out, struct err_msg *msg);

/* Units of one stage, and the global index (0-based) of its first decoder
 * layer (where it has none: of the next one). */
struct layout_counts layout_stage(const struct layout *l, int stage);
int layout_first_layer(const struct layout *l, int stage);

/* The same of all stages at once, in first[0..n_stages). */
void layout_first_layers(const struct layout *l, int *first);

/* Units of the stage by kind (layers told apart by their index). */
void layout_stage_kinds(const struct layout *l, const struct model *m,
                        int stage, int counts[N_KINDS]);

/* Stage that holds the first m, or -1; standalone when its rank is not the
 * last one. */
int layout_mtp_stage(const struct layout *l);
bool layout_mtp_standalone(const struct layout *l);

/* The layout as one writes it: runs t*5 from two on, equal neighbouring stages
 * (t*4|)*6 where that is shorter; it parses to the same stages. Owned by the
 * arena, NULL when out of memory. layout_shortest() saves more characters. */
const char *layout_string(struct arena *a, const struct layout *l);

/* The layout as it is pasted for this model: layout_string(), or the pattern of
 * a hybrid model. Owned by the arena, NULL when out of memory. */
const char *layout_text(struct arena *a, const struct layout *l,
                        const struct model *m);

/* List of lists of unit names, as Megatron-Bridge and NeMo take it:
 * [["embedding","decoder"],...,["mtp","loss"]]. NULL when out of memory. */
const char *layout_list(struct arena *a, const struct layout *l);

/* Does a stage hold no unit? Documented as legal, but deadlocks are reported
 * with virtual stages. */
bool layout_has_empty(const struct layout *l);

/* What else users get hurt by although Megatron accepts it (m on rank 0, E or L
 * away from the ends, standalone m). Returns the number of texts written to
 * `texts`. */
enum { LAYOUT_MAX_WARNINGS = 4 };
int layout_warnings(const struct layout *l,
                    const char *texts[LAYOUT_MAX_WARNINGS]);

#endif
