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

/* The pattern is the only place where a hybrid config has its layers; their
 * number beside it must agree. */
void hf_hybrid_read_pattern(struct hf *h)
{
    const char *key = h->family->keys->layers;
    const char *symbols =
        pattern_of(h, "layers_block_type", "hybrid_override_pattern");
    if (!symbols) {
        hf_refuse(h, "hybrid_override_pattern",
                  "missing, and so is layers_block_type: want the layers");
        return;
    }
    const int64_t n = (int64_t)strlen(symbols);
    if (n < 1 || n > MODEL_MAX_LAYERS)
        hf_refuse(h, "layers_block_type", "got %lld layers, want 1 to %d",
                  (long long)n, MODEL_MAX_LAYERS);
    if (hf_int(h, key, 0, n) != n)
        hf_refuse(h, key, "got %lld, and the pattern has %lld layers",
                  (long long)hf_int(h, key, 0, n), (long long)n);
    if (!reader_is_ok(h->at))
        return;
    h->symbols = symbols;
    h->n_layers = (int)n;
    hf_put(h, FLAG_HYBRID_LAYER_PATTERN, with_mtp(h, symbols));
}

/* ---- parts ---- */

/* Megatron's convolution has four taps and a bias, its projections none. */
static void check_mamba(const struct hf *h)
{
    if (hf_int(h, "conv_kernel", 1, 4) != 4)
        hf_refuse(h, "conv_kernel", "want 4, as in Megatron");
    if (!hf_switch(h, "use_conv_bias", true))
        hf_refuse(h, "use_conv_bias", "false is not counted, want true");
    if (hf_switch(h, "mamba_proj_bias", false))
        hf_refuse(h, "mamba_proj_bias", "true is not counted, want false");
}

static void read_mamba(const struct hf *h)
{
    static const struct {
        const char *key;
        enum flag_id flag;
    } same[] = {{"mamba_num_heads", FLAG_MAMBA_NUM_HEADS},
                {"mamba_head_dim", FLAG_MAMBA_HEAD_DIM},
                {"ssm_state_size", FLAG_MAMBA_STATE_DIM},
                {"n_groups", FLAG_MAMBA_NUM_GROUPS}};
    if (!strchr(h->symbols, 'M'))
        return;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        hf_set(h, same[i].key, same[i].flag, hf_need(h, same[i].key));
    check_mamba(h);
}

/* Nemotron-H: squared ReLU without a gate, and no position embedding. */
void hf_hybrid_read_parts(const struct hf *h)
{
    const char *act = hf_text(h, "mlp_hidden_act");
    if (*act && strcmp(act, "relu2") != 0)
        hf_refuse(h, "mlp_hidden_act", "got '%.40s', want relu2", act);
    hf_on(h, FLAG_SQUARED_RELU);
    hf_put(h, FLAG_POSITION_EMBEDDING_TYPE, "none");
    hf_copy(h, "moe_latent_size", FLAG_MOE_LATENT_SIZE, 0);
    if (h->symbols)
        read_mamba(h);
}
