#include "as_hybrid.h"

#include <stddef.h>

void model_layer_halves(const struct model *m, enum unit_kind layer,
                        enum unit_kind out[2])
{
    const bool lean = kind_is_lean(layer);
    out[0] = lean && m->linear.v_heads   ? KIND_DELTA
             : !m->mla                   ? KIND_ATTENTION
             : m->indexer.heads && !lean ? KIND_SPARSE
                                         : KIND_LATENT;
    out[1] = m->n_experts && !kind_is_dense(layer) ? KIND_EXPERTS : KIND_MLP;
}

/* The two symbols of layer `layer`; false where it has none. */
static bool symbols_of_layer(const struct model *m, enum unit_kind layer,
                             char out[2])
{
    enum unit_kind half[2];
    model_layer_halves(m, layer, half);
    out[0] = kind_symbol(half[0]);
    out[1] = kind_symbol(half[1]);
    return half[0] == KIND_DELTA || !kind_is_lean(layer);
}

/* What a symbol of the new model inherits from its layer. */
struct inherited {
    char *symbols;
    uint8_t *window, *moe;
};

/* Both halves have the window of their layer; only the mixer asks for it. */
static bool fill_inherited(const struct model *m, const struct inherited *to)
{
    for (int i = 0; i < m->n_layers; i++) {
        if (!symbols_of_layer(m, model_layer_kind(m, i), to->symbols + 2 * i))
            return false;
        for (int half = 2 * i; half < 2 * i + 2; half++) {
            to->window[half] = m->layer_window && m->layer_window[i];
            to->moe[half] = kind_of_symbol(to->symbols[half]) == KIND_EXPERTS;
        }
    }
    return true;
}

/* Weights, FLOPs and memory stay what they were: tests hold the two models
 * against each other. Nothing is left that says which layers were lean, since
 * that is in the symbols. */
enum err model_as_hybrid(struct arena *a, const struct model *m,
                         struct model *out, struct err_msg *msg)
{
    const size_t n = 2 * (size_t)m->n_layers;
    struct model h = *m;
    *out = h;
    if (model_is_hybrid(m))
        return ERR_OK;
    if (n > MODEL_MAX_LAYERS)
        return err_set(msg, ERR_RANGE,
                       "model: %d layers are %zu symbols, want at most %d",
                       m->n_layers, n, MODEL_MAX_LAYERS);
    const struct inherited to = {arena_alloc(a, n + 1, 1), arena_alloc(a, n, 1),
                                 arena_alloc(a, n, 1)};
    char *mtp = arena_alloc(a, 3, 1);
    if (!to.symbols || !to.window || !to.moe || !mtp)
        return err_set(msg, ERR_NOMEM, "model: out of memory");
    if (!fill_inherited(m, &to) || !symbols_of_layer(m, model_mtp_kind(m), mtp))
        return err_set(msg, ERR_RANGE,
                       "model: layers that share the top-k of another one have "
                       "no symbol in a pattern");
    h.n_layers = (int)n;
    h.symbols = to.symbols;
    h.mtp_symbols = m->n_mtp ? mtp : NULL;
    h.layer_window = m->layer_window ? to.window : NULL;
    h.layer_moe = to.moe;
    h.layer_lean = NULL;
    // numbers of layers are numbers of symbols; other flags of the split do not
    // go with a pattern
    h.split = (struct default_split){.first_layers = 2 * m->split.first_layers,
                                     .last_layers = 2 * m->split.last_layers};
    *out = h;
    return ERR_OK;
}
