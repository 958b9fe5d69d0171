/*
 * pattern: layers to stages of a hybrid model, in Megatron's own grammar
 * (--hybrid-layer-pattern):
 *
 *     main { "/" mtp },  main = segment { "|" segment }
 *
 * A symbol is a layer: M Mamba, G gated delta net, * attention, + multi-latent
 * attention, D sparse attention, - MLP, E experts. Segment v*PP + r is chunk v
 * of rank r; the embedding stands before the first one, MTP and loss behind the
 * last one, and neither has a symbol. A pattern without bars is split evenly,
 * or by the flags of the first and the last stage.
 *
 * The checks are those of validate_args() in megatron/training/arguments.py,
 * of parse_hybrid_pattern() and select_pipeline_segment() in
 * megatron/core/models/hybrid/hybrid_layer_allocation.py and of
 * TransformerConfig, in their order, at core_v0.17.0 to main of August 2026;
 * before, of core/ssm/mamba_hybrid_layer_allocation.py and mamba_block.py.
 *
 * Sized for patterns of some KB; PATTERN_MAX_CHARS bounds what hostile ones
 * take.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include "base/arena.h"
#include "base/err.h"
#include "layout/core_version.h"
#include "layout/layout.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>

/* Characters of a pattern, also of one that flags of old are joined to. */
enum { PATTERN_MAX_CHARS = 100000 };

#define PATTERN_ARGUMENTS "arguments.py validate_args"
#define PATTERN_CONFIG "transformer_config.py __post_init__"

/* identifier, name (as in `check --batch`), where Megatron finds it, where it
 * says so, explanation; in Megatron's order. The last ones are of versions
 * before 0.17, of this program's cap, and of memory. */
#define PATTERN_ERROR_TABLE(X)                                                 \
    X(PATTERN_OK, "", "", "", "valid")                                         \
    X(PATTERN_BOTH, "both_patterns", "arguments", PATTERN_ARGUMENTS,           \
      "--hybrid-override-pattern is the old name of --hybrid-layer-pattern: "  \
      "give one of them")                                                      \
    X(PATTERN_MAIN_SYMBOL, "main_symbol", "arguments",                         \
      "hybrid_layer_allocation.py _validate_pattern",                          \
      "a character that is no layer")                                          \
    X(PATTERN_MIX, "attention_mla_mix", "arguments",                           \
      "hybrid_layer_allocation.py _validate_pattern",                          \
      "* does not go with + or D")                                             \
    X(PATTERN_FIRST_WITH_PIPES, "first_with_pipes", "arguments",               \
      PATTERN_ARGUMENTS,                                                       \
      "--decoder-first-pipeline-num-layers does not go with bars, which say "  \
      "it all")                                                                \
    X(PATTERN_LAST_WITH_PIPES, "last_with_pipes", "arguments",                 \
      PATTERN_ARGUMENTS,                                                       \
      "--decoder-last-pipeline-num-layers does not go with bars, which say "   \
      "it all")                                                                \
    X(PATTERN_LAYERS_PER_VIRTUAL, "layers_per_virtual_flag", "arguments",      \
      PATTERN_ARGUMENTS,                                                       \
      "--num-layers-per-virtual-pipeline-stage does not go with a pattern: "   \
      "write more segments")                                                   \
    X(PATTERN_VIRTUAL_STAGES, "virtual_stages_flag", "arguments",              \
      PATTERN_ARGUMENTS,                                                       \
      "--num-virtual-stages-per-pipeline-rank does not go with a pattern: "    \
      "write more segments")                                                   \
    X(PATTERN_LAYOUT, "layout_flag", "arguments", PATTERN_ARGUMENTS,           \
      "--pipeline-model-parallel-layout does not go with a pattern: its bars " \
      "are the layout")                                                        \
    X(PATTERN_ACCOUNT_EMBEDDING, "account_embedding_flag", "arguments",        \
      PATTERN_ARGUMENTS,                                                       \
      "--account-for-embedding-in-pipeline-split does not go with a pattern: " \
      "its bars are the layout")                                               \
    X(PATTERN_ACCOUNT_LOSS, "account_loss_flag", "arguments",                  \
      PATTERN_ARGUMENTS,                                                       \
      "--account-for-loss-in-pipeline-split does not go with a pattern: its "  \
      "bars are the layout")                                                   \
    X(PATTERN_SEGMENTS, "segments_not_divisible", "arguments",                 \
      PATTERN_ARGUMENTS,                                                       \
      "the number of segments must be a multiple of the pipeline size")        \
    X(PATTERN_MTP_DIFFER, "mtp_differ", "arguments",                           \
      "hybrid_layer_allocation.py parse_hybrid_pattern",                       \
      "the patterns of all MTP depths must be equal")                          \
    X(PATTERN_MTP_SYMBOL, "mtp_symbol", "arguments",                           \
      "hybrid_layer_allocation.py _validate_pattern",                          \
      "a character behind / that is no layer; a bar is none there")            \
    X(PATTERN_MTP_MIX, "mtp_attention_mla_mix", "arguments",                   \
      "hybrid_layer_allocation.py _validate_pattern",                          \
      "* does not go with + or D in the pattern of MTP")                       \
    X(PATTERN_MTP_POSITIONS, "mtp_position_embedding", "arguments",            \
      PATTERN_ARGUMENTS, "MTP wants --position-embedding-type rope or none")   \
    X(PATTERN_VIRTUAL_PP2, "virtual_needs_pp2", "arguments",                   \
      PATTERN_ARGUMENTS,                                                       \
      "several segments a rank want a pipeline of two ranks or more")          \
    X(PATTERN_VIRTUAL_PP3, "virtual_needs_pp3", "arguments",                   \
      PATTERN_ARGUMENTS,                                                       \
      "several segments a rank without overlapped communication want a "       \
      "pipeline of three ranks or more")                                       \
    X(PATTERN_FIRST_POSITIVE, "first_not_positive", "config", PATTERN_CONFIG,  \
      "--decoder-first-pipeline-num-layers must be above 0")                   \
    X(PATTERN_LAST_POSITIVE, "last_not_positive", "config", PATTERN_CONFIG,    \
      "--decoder-last-pipeline-num-layers must be above 0")                    \
    X(PATTERN_MIDDLE_MISMATCH, "middle_mismatch", "config", PATTERN_CONFIG,    \
      "layers are left and no stage for them, or a stage and no layer")        \
    X(PATTERN_MIDDLE_DIVISIBLE, "middle_not_divisible", "config",              \
      PATTERN_CONFIG,                                                          \
      "the layers between the ends must divide by the stages between")         \
    X(PATTERN_NO_LAYERS, "no_layers", "config",                                \
      "utils.py scaled_init_method_normal",                                    \
      "no symbol before the first /: a division by zero")                      \
    X(PATTERN_LAYERS_DIVISIBLE, "layers_not_divisible", "model",               \
      "hybrid_layer_allocation.py select_pipeline_segment",                    \
      "without bars the layers must divide by the pipeline size")              \
    /* --hybrid-override-pattern before 0.17 */                                \
    X(PATTERN_OLD_DIVISIBLE, "layers_not_divisible", "arguments",              \
      PATTERN_ARGUMENTS, "the layers must divide by the pipeline size")        \
    X(PATTERN_OLD_LENGTH, "pattern_length", "model",                           \
      "mamba_hybrid_layer_allocation.py _allocate_override",                   \
      "one symbol for each of --num-layers")                                   \
    X(PATTERN_OLD_SYMBOL, "main_symbol", "model",                              \
      "mamba_hybrid_layer_allocation.py _allocate_override",                   \
      "a character that is no layer of this version")                          \
    X(PATTERN_OLD_VIRTUAL, "virtual_stages", "model",                          \
      "mamba_block.py _select_layers_for_pipeline_parallel",                   \
      "hybrid models have no virtual stages before core 0.17")                 \
    X(PATTERN_VERSION, "core_version", "arguments",                            \
      "unrecognized arguments: --hybrid-layer-pattern",                        \
      "this version has no pattern with bars: it came with core 0.17 "         \
      "(--hybrid-override-pattern before)")                                    \
    X(PATTERN_TOO_LARGE, "too_large", "", "",                                  \
      "the pattern is longer than this program takes")                         \
    X(PATTERN_NO_MEMORY, "out_of_memory", "", "",                              \
      "nothing is known of the pattern")

enum pattern_error {
#define PATTERN_ENUM(name, id, where, source, text) name,
    PATTERN_ERROR_TABLE(PATTERN_ENUM)
#undef PATTERN_ENUM
};

/* The flags that decide it, as they were given. */
struct pattern_flags {
    const char *pattern;      // --hybrid-layer-pattern; NULL: not given
    const char *override;     // --hybrid-override-pattern
    const char *mtp_override; // --mtp-hybrid-override-pattern
    const char *symbols;      // layers that the version knows; NULL: all
    int pp;                   // at least 1
    int mtp_num_layers;       // 0: none
    const int *num_layers;    // NULL: not given; so the next two
    const int *first, *last;  // --decoder-first/last-pipeline-num-layers
    bool layers_per_virtual, virtual_stages, layout; // given
    bool account_embedding, account_loss, no_overlap_p2p;
    const char *positions; // type of position embedding; NULL: one of those
                           // that go with MTP
};

struct pattern {
    int pp, vpp, n_segments; // n_segments = pp * vpp
    const char **segment;    // n_segments strings of symbols
    const int *offset;       // layers before each, as Megatron counts them
    const char *main;        // symbols without bars
    const char *mtp;         // of one MTP depth, "" for none
    const char *text;        // all, with what flags of old add
    int n_layers, n_depths;
    bool covers; // the segments add up to `main`
    bool mla;    // + or D, anywhere
};

/* Columns of the table above: the name ("" for PATTERN_OK), and which of
 * Megatron's functions and files refuse it. Static texts. */
const char *pattern_error_id(enum pattern_error e);
const char *pattern_error_where(enum pattern_error e);
const char *pattern_error_source(enum pattern_error e);

/* Do these flags make a hybrid model? */
bool pattern_is_given(const struct pattern_flags *f);

/* Does a word read as a pattern and not as a GPT layout? "E|" is neither, and
 * taken for a layout. */
bool pattern_is_word(const char *word);

/* Makes all checks. On PATTERN_OK *out is owned by the arena, also where the
 * segments do not cover the layers, which Megatron does not check; otherwise it
 * is untouched and `msg` says what was found. A pattern must be given. */
enum pattern_error pattern_read(struct arena *a, const struct pattern_flags *f,
                                struct pattern *out, struct err_msg *msg);

/* The same of core before 0.17, where --hybrid-override-pattern is a list of
 * layers alone, dealt out evenly. num_layers must be given. */
enum pattern_error pattern_read_old(struct arena *a,
                                    const struct pattern_flags *f,
                                    struct pattern *out, struct err_msg *msg);

/* What one version of core makes of it: by its symbols, which are put into the
 * flags, and by the rules of its time. PATTERN_VERSION where it has no flag of
 * that name. Before 0.17 num_layers must be given. */
enum pattern_error pattern_read_by(struct arena *a,
                                   const struct core_version *core,
                                   struct pattern_flags *f, struct pattern *out,
                                   struct err_msg *msg);

/* Byte of the text (a pattern as it was typed) at which the error shows. False
 * where it is no matter of one place. `symbols` as in the flags. */
bool pattern_error_place(const char *text, const char *symbols,
                         enum pattern_error e, size_t *byte);

/* What users should know although Megatron accepts it: flags that the pattern
 * overrides, forms that are deprecated. Number of texts, owned by the arena
 * (NULL: out of memory). */
enum { PATTERN_MAX_WARNINGS = 6 };
int pattern_warnings(struct arena *a, const struct pattern_flags *f,
                     const struct pattern *p,
                     const char *texts[PATTERN_MAX_WARNINGS]);

/* ---- as a layout, and back ---- */

/* One t a symbol, E in the first stage, all m (one a depth) and L in the last.
 * The pattern must cover. ERR_NOMEM is the only error. */
enum err pattern_layout(struct arena *a, const struct pattern *p,
                        struct layout *out, struct err_msg *msg);

/* The text to paste (unquoted) for the pattern, with a bar between all
 * segments. NULL when out of memory. */
const char *pattern_text(struct arena *a, const struct pattern *p);

/* What the two parts of a pattern hold whatever the cuts. */
struct pattern_symbols {
    const char *main; // one symbol a layer
    const char *mtp;  // of one depth; "" or NULL: none
};

/* The same for a layout with one t for each symbol of `of->main` and one m a
 * depth, E in the first stage and m and L in the last. NULL when out of
 * memory. */
const char *pattern_of_layout(struct arena *a, const struct pattern_symbols *of,
                              const struct layout *l);

#endif
