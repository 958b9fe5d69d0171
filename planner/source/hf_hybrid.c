#include "hf_hybrid.h"

#include "model/model.h"

#include <string.h>

/* Words of layers_block_type. */
static const struct {
    const char *word;
    char symbol;
} blocks[] = {{"mamba", 'M'}, {"attention", '*'}, {"moe", 'E'}, {"mlp", '-'}};

static char block_symbol(const char *word)
{
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (strcmp(blocks[i].word, word) == 0)
            return blocks[i].symbol;
    return '\0';
}

/* ---- patterns ---- */

/* A list of words as symbols; NULL where it is absent. */
static const char *pattern_of_list(const struct hf *h, const char *path)
{
    struct reader list = reader_list(h->at, path), c = reader_first(list);
    if (!reader_is_there(list))
        return NULL;
    const size_t n = (size_t)reader_count(list);
    char *out = arena_alloc(h->at.doc->a, n + 1, 1), *to = out;
    for (; out && reader_is_there(c); c = reader_next(c)) {
        const char *word = "";
        reader_text_here(c, &word);
        *to = block_symbol(word);
        if (!*to++)
            reader_fail(c, ERR_RANGE,
                        "'%.40s' is not counted, want mamba, attention, moe or "
                        "mlp",
                        word);
    }
    return out;
}

/* Symbols of a text, of which the type has four. */
static const char *pattern_of_text(const struct hf *h, const char *path)
{
    const char *text = hf_text(h, path);
    const size_t ok = strspn(text, "M*E-");
    if (text[ok])
        hf_refuse(h, path, "got '%c' as letter %zu, want M, *, E or -",
                  text[ok], ok + 1);
    return *text ? text : NULL;
}

/* The list is what newer classes go by. */
static const char *pattern_of(const struct hf *h, const char *list,
                              const char *text)
{
    const char *symbols = pattern_of_list(h, list);
    return symbols ? symbols : pattern_of_text(h, text);
}

/* Depths repeat one another (modeling_nemotron_h.py, Megatron-Bridge's
 * nemotron_h_bridge.py); without a pattern of their own each is attention and
 * experts. */
static const char *with_mtp(const struct hf *h, const char *symbols)
{
    const int64_t n = hf_int(h, "num_nextn_predict_layers", 0, 0);
    const char *each =
        pattern_of(h, "mtp_layers_block_type", "mtp_hybrid_override_pattern");
    if (n > flag_range(FLAG_MTP_NUM_LAYERS).hi)
        hf_refuse(h, "num_nextn_predict_layers", "got %lld, want at most %lld",
                  (long long)n, (long long)flag_range(FLAG_MTP_NUM_LAYERS).hi);
    for (int64_t i = 0; i < n && symbols && reader_is_ok(h->at); i++)
        symbols =
            arena_printf(h->at.doc->a, "%s/%s", symbols, each ? each : "*E");
    if (n > 1 && hf_switch(h, "mtp_use_repeated_layer", true))
        hf_on(h, FLAG_MTP_REPEATED);
    return symbols;
}

/* Each layer is a mixer and an MLP, which is all of experts or all dense. */
static const char *pattern_of_pairs(const struct hf *h)
{
    const char *mixers = pattern_of_list(h, "layer_types");
    const size_t n = mixers ? strlen(mixers) : 0;
    const bool moe = hf_int(h, h->family->keys->experts, 0, 0) > 0;
    char *out = arena_alloc(h->at.doc->a, 2 * n + 1, 1);
    if (mixers && mixers[strspn(mixers, "M*")])
        hf_refuse(h, "layer_types", "want mamba and attention only");
    for (size_t i = 0; out && i < n; i++) {
        out[2 * i] = mixers[i];
        out[2 * i + 1] = moe ? 'E' : '-';
    }
    return mixers ? out : NULL;
}

/* The pattern is the only place where a hybrid config has its layers; their
 * number beside it must agree. */
void hf_hybrid_read_pattern(struct hf *h)
{
    const bool pairs = hf_part(h, HF_PAIRS);
    const char *key = h->family->keys->layers;
    const char *symbols =
        pairs ? pattern_of_pairs(h)
              : pattern_of(h, "layers_block_type", "hybrid_override_pattern");
    if (!symbols) {
        hf_refuse(h, pairs ? "layer_types" : "hybrid_override_pattern",
                  pairs ? "missing: want the layers"
                        : "missing, and so is layers_block_type: want the "
                          "layers");
        return;
    }
    const int64_t n = (int64_t)strlen(symbols), layers = pairs ? n / 2 : n;
    if (n < 1 || n > MODEL_MAX_LAYERS)
        hf_refuse(h, pairs ? "layer_types" : "layers_block_type",
                  "got %lld layers, want 1 to %d", (long long)layers,
                  pairs ? MODEL_MAX_LAYERS / 2 : MODEL_MAX_LAYERS);
    if (hf_int(h, key, 0, layers) != layers)
        hf_refuse(h, key, "got %lld, and the pattern has %lld layers",
                  (long long)hf_int(h, key, 0, layers), (long long)layers);
    if (!reader_is_ok(h->at))
        return;
    h->symbols = symbols;
    h->n_layers = (int)n;
    hf_put(h, FLAG_HYBRID_LAYER_PATTERN, with_mtp(h, symbols));
}

/* ---- parts ---- */

/* Keys of Mamba layers; other names in types whose layers are pairs. */
struct mamba_keys {
    const char *heads, *head_dim, *state, *groups, *taps, *conv_bias, *bias;
};

static const struct mamba_keys *mamba_keys_of(const struct hf *h)
{
    static const struct mamba_keys own = {
        "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups",
        "conv_kernel",     "use_conv_bias",  "mamba_proj_bias"};
    static const struct mamba_keys pairs = {
        "mamba_n_heads", "mamba_d_head",    "mamba_d_state",  "mamba_n_groups",
        "mamba_d_conv",  "mamba_conv_bias", "mamba_proj_bias"};
    return hf_part(h, HF_PAIRS) ? &pairs : &own;
}

/* Megatron's convolution has four taps and a bias, its projections none. */
static void check_mamba(const struct hf *h, const struct mamba_keys *k)
{
    if (hf_int(h, k->taps, 1, 4) != 4)
        hf_refuse(h, k->taps, "want 4, as in Megatron");
    if (!hf_switch(h, k->conv_bias, true))
        hf_refuse(h, k->conv_bias, "false is not counted, want true");
    if (hf_switch(h, k->bias, false))
        hf_refuse(h, k->bias, "true is not counted, want false");
}

static void read_mamba(const struct hf *h)
{
    const struct mamba_keys *k = mamba_keys_of(h);
    const struct {
        const char *key;
        enum flag_id flag;
    } same[] = {{k->heads, FLAG_MAMBA_NUM_HEADS},
                {k->head_dim, FLAG_MAMBA_HEAD_DIM},
                {k->state, FLAG_MAMBA_STATE_DIM},
                {k->groups, FLAG_MAMBA_NUM_GROUPS}};
    if (!strchr(h->symbols, 'M'))
        return;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        hf_set(h, same[i].key, same[i].flag, hf_need(h, same[i].key));
    check_mamba(h, k);
}

/* Gated MLPs, and positions in attention where a key does not say no. */
static void read_pairs(const struct hf *h)
{
    const char *act = hf_text(h, "hidden_act");
    const char *positions = hf_text(h, "position_embedding_type");
    if (*act && strcmp(act, "silu") != 0)
        hf_refuse(h, "hidden_act", "got '%.40s', want silu", act);
    if (hf_switch(h, "mlp_bias", false))
        hf_refuse(h, "mlp_bias", "true is not counted, want false");
    hf_on(h, FLAG_SWIGLU);
    hf_put(h, FLAG_POSITION_EMBEDDING_TYPE,
           strcmp(positions, "rope") == 0 ? "rope" : "none");
    hf_warn(h, "layers of two symbols",
            "each layer is two of Megatron's: a mixer and an MLP");
}

/* Nemotron-H: squared ReLU without a gate, and no position embedding. */
void hf_hybrid_read_parts(const struct hf *h)
{
    const char *act = hf_text(h, "mlp_hidden_act");
    if (hf_part(h, HF_PAIRS)) {
        read_pairs(h);
    } else {
        if (*act && strcmp(act, "relu2") != 0)
            hf_refuse(h, "mlp_hidden_act", "got '%.40s', want relu2", act);
        hf_on(h, FLAG_SQUARED_RELU);
        hf_put(h, FLAG_POSITION_EMBEDDING_TYPE, "none");
        hf_copy(h, "moe_latent_size", FLAG_MOE_LATENT_SIZE, 0);
    }
    if (h->symbols)
        read_mamba(h);
}
