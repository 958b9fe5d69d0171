/*
 * How it works: each part of the model is one function that reads its flags
 * with the defaults that Megatron gives them (validate_args() and
 * core_transformer_config_from_args() in megatron/training/arguments.py) and
 * checks that they fit what was read before.
 */
#include "model.h"

#include "hybrid.h"
#include "layout/layout.h"
#include "memory.h"
#include "model/layer_freq.h"
#include "model/weights.h"

#include <stdlib.h>
#include <string.h>

static int64_t megatron_model_round_up(int64_t v, int64_t multiple)
{
    return (v + multiple - 1) / multiple * multiple;
}

/* ---- vocabulary ---- */

/* Tokens before padding. Core 0.16's NullTokenizer adds one (end of document)
 * to --vocab-size. The size of a tokenizer that is not here is unknown, but
 * Megatron's GPT-2 one has 50257 tokens always. */
static int64_t vocab_tokens(const struct megatron_flags *f)
{
    int64_t given = flags_int(f, FLAG_VOCAB_SIZE, 0);
    if (!given && flags_is(f, FLAG_TOKENIZER_TYPE, "GPT2BPETokenizer"))
        return 50257;
    return given + flags_is(f, FLAG_TOKENIZER_TYPE, "NullTokenizer");
}

/* The table is padded to a multiple of divisor x TP. */
int64_t megatron_padded_vocab(const struct megatron_flags *f, int64_t tp)
{
    int64_t multiple = flags_int(f, FLAG_MAKE_VOCAB_DIVISIBLE, 128) * tp;
    return flags_int(f, FLAG_PADDED_VOCAB_SIZE,
                     megatron_model_round_up(vocab_tokens(f), multiple));
}

/* Either of both is enough: a config has the padded size, a script the
 * tokenizer's. */
static enum err set_vocab(const struct megatron_flags *f, struct model *m,
                          struct err_msg *msg)
{
    m->vocab = flags_int(f, FLAG_VOCAB_SIZE, vocab_tokens(f));
    m->padded_vocab = megatron_padded_vocab(f, m->par.tp);
    if (!m->vocab)
        m->vocab = m->padded_vocab;
    if (m->padded_vocab)
        return ERR_OK;
    return err_set(msg, ERR_PARSE,
                   "--vocab-size: missing, and the tokenizer's size is not in "
                   "the flags: give --padded-vocab-size N");
}

/* ---- attention ---- */

static enum err megatron_model_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "model: out of memory");
}

/* Megatron asserts both divisions; a width that does not divide needs
 * --kv-channels, which then decides. */
static enum err set_heads(const struct megatron_flags *f, struct model *m,
                          struct err_msg *msg)
{
    m->n_heads = flags_int(f, FLAG_NUM_ATTENTION_HEADS, 1);
    if (!flags_given(f, FLAG_KV_CHANNELS) && !m->mla && m->hidden % m->n_heads)
        return err_set(msg, ERR_RANGE,
                       "--hidden-size %lld is not a multiple of "
                       "--num-attention-heads %lld: give --kv-channels",
                       (long long)m->hidden, (long long)m->n_heads);
    m->head_dim = flags_int(f, FLAG_KV_CHANNELS, m->hidden / m->n_heads);
    m->n_kv_heads = flags_given(f, FLAG_GROUP_QUERY_ATTENTION)
                        ? flags_int(f, FLAG_NUM_QUERY_GROUPS, 1)
                        : m->n_heads;
    if (m->n_heads % m->n_kv_heads)
        return err_set(msg, ERR_RANGE,
                       "--num-query-groups: got %lld, want a divisor of "
                       "--num-attention-heads %lld",
                       (long long)m->n_kv_heads, (long long)m->n_heads);
    return ERR_OK;
}

/* Megatron takes a pair "w,0": w tokens back. Without a window no layer skips
 * one. */
static enum err set_window(struct arena *a, const struct megatron_flags *f,
                           struct model *m, struct err_msg *msg)
{
    const char *text = flags_text(f, FLAG_WINDOW_SIZE);
    const char *digits = text ? text + strcspn(text, "0123456789") : "";
    long long w = strtoll(digits, NULL, 10);
    // -1 and what is beyond the longest sequence is no window
    if (w <= 0 || w >= 1 << 26)
        return ERR_OK;
    uint8_t *windowed = arena_alloc(a, (size_t)m->n_layers, 1);
    if (!windowed)
        return megatron_model_no_memory(msg);
    m->window = w;
    m->layer_window = windowed;
    return layer_freq_windows(flags_text(f, FLAG_WINDOW_SKIP_FREQ), m->n_layers,
                              windowed, msg);
}

/* Sizes of gated delta net; the conditions are those of
 * transformer_config.py. */
static enum err set_linear_sizes(const struct megatron_flags *f,
                                 struct model *m, struct err_msg *msg)
{
    m->linear = (struct linear_attention){
        .k_heads = flags_int(f, FLAG_LINEAR_KEY_HEADS, 0),
        .v_heads = flags_int(f, FLAG_LINEAR_VALUE_HEADS, 0),
        .k_dim = flags_int(f, FLAG_LINEAR_KEY_DIM, 0),
        .v_dim = flags_int(f, FLAG_LINEAR_VALUE_DIM, 0),
        .taps = flags_int(f, FLAG_LINEAR_CONV_DIM, 0),
        .channel_gates =
            flags_is(f, FLAG_EXPERIMENTAL_ATTENTION_VARIANT, "gdn2")};
    if (m->linear.v_heads % m->linear.k_heads)
        return err_set(msg, ERR_RANGE,
                       "--linear-num-value-heads: got %lld, want a multiple of "
                       "--linear-num-key-heads %lld",
                       (long long)m->linear.v_heads,
                       (long long)m->linear.k_heads);
    return ERR_OK;
}

/* Gated delta net in all layers but those that --linear-attention-freq leaves
 * out. */
static enum err set_linear(struct arena *a, const struct megatron_flags *f,
                           struct model *m, struct err_msg *msg)
{
    static const char freq[] = "--linear-attention-freq";
    const char *text = flags_text(f, FLAG_LINEAR_ATTENTION_FREQ);
    if (!text)
        return err_set(msg, ERR_RANGE,
                       "%s: missing, gated delta net wants the layers that "
                       "have it",
                       freq);
    enum err e = set_linear_sizes(f, m, msg);
    if (e != ERR_OK)
        return e;
    uint8_t *lean = arena_alloc(a, (size_t)m->n_layers, 1);
    if (!lean)
        return megatron_model_no_memory(msg);
    m->layer_lean = lean;
    return layer_freq_but_every(freq, text, m->n_layers, lean, msg);
}

/* Layer `number`, from 1, takes over the top-k of one before it (dsa.py,
 * is_dsa_skip_topk_layer()). */
static bool shares_topk(const struct megatron_flags *f, int64_t number)
{
    int64_t first = flags_int(f, FLAG_DSA_SKIP_OFFSET, 0);
    int64_t past = number - (first > 1 ? first : 1);
    return past > 0 && past % flags_int(f, FLAG_DSA_TOPK_FREQ, 1) != 0;
}

/* Which layers have no indexer of their own; none where all have one. */
static enum err set_shared_topk(struct arena *a, const struct megatron_flags *f,
                                struct model *m, struct err_msg *msg)
{
    const char *text = flags_text(f, FLAG_DSA_LAYERS);
    uint8_t *lean = arena_alloc(a, (size_t)m->n_layers, 1);
    bool any = false;
    if (!lean)
        return megatron_model_no_memory(msg);
    enum err e = text ? layer_freq_but_every("--dsa-indexer-layers", text,
                                             m->n_layers, lean, msg)
                      : ERR_OK;
    for (int i = 0; i < m->n_layers && e == ERR_OK; i++) {
        // the list tells of indexers, the flags of layers without
        lean[i] = text ? !lean[i] : shares_topk(f, i + 1);
        any = any || lean[i];
    }
    m->layer_lean = any ? lean : NULL;
    for (int i = 2; i <= m->n_mtp && e == ERR_OK; i++)
        if (any && (text || shares_topk(f, i)))
            e = err_set(msg, ERR_RANGE,
                        "--mtp-num-layers: got %d, want 1: MTP layers of which "
                        "some share an indexer's top-k are not counted",
                        m->n_mtp);
    return e;
}

/* Sparse attention, whose indexers pick the keys of latent attention. */
static enum err set_indexer(struct arena *a, const struct megatron_flags *f,
                            struct model *m, struct err_msg *msg)
{
    static const enum flag_id wanted[] = {FLAG_MLA, FLAG_DSA_HEADS,
                                          FLAG_DSA_DIM, FLAG_DSA_TOPK,
                                          FLAG_DISABLE_BIAS_LINEAR};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!flags_given(f, wanted[i]))
            return err_set(msg, ERR_RANGE, "--%s: missing, %s wants it",
                           flag_name(wanted[i]),
                           hybrid_flag(f) == FLAG_NONE
                               ? "--experimental-attention-variant dsa"
                               : "a pattern with layers D");
    m->indexer = (struct indexer){.heads = flags_int(f, FLAG_DSA_HEADS, 0),
                                  .dim = flags_int(f, FLAG_DSA_DIM, 0),
                                  .topk = flags_int(f, FLAG_DSA_TOPK, 0)};
    return set_shared_topk(a, f, m, msg);
}

/* "gated_delta_net" is the older name of "gdn". */
bool megatron_has_delta_net(const struct megatron_flags *f)
{
    const enum flag_id id = FLAG_EXPERIMENTAL_ATTENTION_VARIANT;
    return flags_is(f, id, "gdn") || flags_is(f, id, "gdn2") ||
           flags_is(f, id, "gated_delta_net");
}

/* Symbols say which layers have which attention; the variant says no more than
 * which gated delta net G is (models/hybrid/hybrid_block.py). */
static enum err set_symbols(struct arena *a, const struct megatron_flags *f,
                            const struct megatron_hybrid *h, struct model *m,
                            struct err_msg *msg)
{
    enum err e = ERR_OK;
    if (strchr(h->text, 'G'))
        e = set_linear_sizes(f, m, msg);
    if (e == ERR_OK && strchr(h->text, 'D'))
        e = set_indexer(a, f, m, msg);
    return e;
}

static enum err set_variant(struct arena *a, const struct megatron_flags *f,
                            struct model *m, struct err_msg *msg)
{
    const enum flag_id id = FLAG_EXPERIMENTAL_ATTENTION_VARIANT;
    if (m->attn_gate && m->mla)
        return err_set(msg, ERR_RANGE,
                       "--attention-output-gate: Megatron has none for "
                       "--multi-latent-attention, want one of the two");
    const char *name = flags_text(f, id);
    if (!flags_given(f, id))
        return ERR_OK;
    if (flags_is(f, id, "dsa"))
        return set_indexer(a, f, m, msg);
    if (megatron_has_delta_net(f))
        return set_linear(a, f, m, msg);
    return err_set(msg, ERR_RANGE,
                   "--%s: got '%.60s', want gdn, gdn2, gated_delta_net or dsa",
                   flag_name(id), name ? name : "");
}

/* Megatron adds learned positions only to models that have neither rotary ones
 * nor --no-position-embedding. */
static enum err set_attention(struct arena *a, const struct megatron_flags *f,
                              const struct megatron_hybrid *h, struct model *m,
                              struct err_msg *msg)
{
    m->mla = flags_given(f, FLAG_MLA);
    if (m->mla) {
        // 0: queries are not compressed, as in DeepSeek-V2-Lite
        m->q_lora = flags_int(f, FLAG_Q_LORA_RANK, 0);
        m->kv_lora = flags_int(f, FLAG_KV_LORA_RANK, 0);
        m->qk_dim = flags_int(f, FLAG_QK_HEAD_DIM, 0);
        m->qk_rope_dim = flags_int(f, FLAG_QK_POS_EMB_HEAD_DIM, 0);
        m->v_dim = flags_int(f, FLAG_V_HEAD_DIM, 0);
    }
    enum err e = set_heads(f, m, msg);
    if (e != ERR_OK)
        return e;
    m->qkv_bias = flags_given(f, FLAG_ADD_QKV_BIAS);
    m->qk_norm_full = flags_given(f, FLAG_QK_NORM_FULL_WIDTH);
    m->qk_norm = flags_given(f, FLAG_QK_LAYERNORM) || m->qk_norm_full;
    m->sinks = flags_is(f, FLAG_SOFTMAX_TYPE, "learnable");
    m->attn_out_bias = flags_given(f, FLAG_ATTENTION_OUTPUT_BIAS);
    m->output_bias = flags_given(f, FLAG_OUTPUT_LAYER_BIAS);
    m->post_norms = flags_given(f, FLAG_POST_LAYER_NORMS);
    m->learned_positions =
        !flags_given(f, FLAG_USE_ROTARY) &&
        !flags_given(f, FLAG_NO_POSITION_EMBEDDING) &&
        flags_is(f, FLAG_POSITION_EMBEDDING_TYPE, "learned_absolute");
    m->max_positions =
        flags_int(f, FLAG_MAX_POSITION_EMBEDDINGS, m->batch.seq_tokens);
    m->attn_gate = flags_given(f, FLAG_ATTENTION_OUTPUT_GATE);
    e = h->text ? set_symbols(a, f, h, m, msg) : set_variant(a, f, m, msg);
    return e == ERR_OK ? set_window(a, f, m, msg) : e;
}

/* ---- MLPs and experts ---- */

int64_t megatron_default_ffn(const struct megatron_flags *f, int64_t hidden)
{
    return flags_given(f, FLAG_SWIGLU) ? hidden * 4 * 2 / 3 / 64 * 64
                                       : hidden * 4;
}

/* A dense model has none of these flags' effects, whatever a script carries
 * along. */
static enum err set_experts(struct arena *a, const struct megatron_flags *f,
                            struct model *m, struct err_msg *msg)
{
    m->n_experts = flags_int(f, FLAG_NUM_EXPERTS, 0);
    m->moe_ffn = flags_int(f, FLAG_MOE_FFN_HIDDEN_SIZE, m->ffn);
    m->topk = m->n_experts ? flags_int(f, FLAG_MOE_ROUTER_TOPK, 2) : 0;
    if (m->n_experts) {
        m->shared_ffn = flags_int(f, FLAG_MOE_SHARED_EXPERT, 0);
        m->shared_gate = m->shared_ffn && flags_given(f, FLAG_MOE_SHARED_GATE);
        m->latent = flags_int(f, FLAG_MOE_LATENT_SIZE, 0);
        m->expert_bias = flags_given(f, FLAG_MOE_EXPERT_BIAS);
        m->count_bias = flags_given(f, FLAG_COUNT_EXPERT_BIAS);
    }
    // also 0 of 0, of a dense model
    if (m->topk > m->n_experts)
        return err_set(msg, ERR_RANGE,
                       "--moe-router-topk: got %lld, want at most "
                       "--num-experts %lld",
                       (long long)m->topk, (long long)m->n_experts);
    uint8_t *moe = arena_alloc(a, (size_t)m->n_layers, 1);
    if (!moe)
        return megatron_model_no_memory(msg);
    m->layer_moe = moe;
    if (!m->n_experts || hybrid_flag(f) != FLAG_NONE)
        return ERR_OK;
    return layer_freq_expand(flags_text(f, FLAG_MOE_LAYER_FREQ), m->n_layers,
                             moe, msg);
}

/* ---- ranks ---- */

static int64_t megatron_model_gcd(int64_t a, int64_t b)
{
    return b ? megatron_model_gcd(b, a % b) : a;
}

/* Without a stated world, the smallest that holds both groups: dense ranks are
 * TP x CP x PP x DP, expert ranks ETP x EP x PP x DP of their own, and both
 * must come out whole (parallel_state.py). */
static enum err megatron_model_set_world(const struct megatron_flags *f,
                                         struct parallel *p,
                                         struct err_msg *msg)
{
    int64_t one = (int64_t)p->tp * p->cp * p->pp;
    int64_t expert_group = (int64_t)p->ep * p->etp * p->pp;
    int64_t world =
        flags_int(f, FLAG_WORLD_SIZE,
                  one / megatron_model_gcd(one, expert_group) * expert_group);
    if (world % one)
        return err_set(msg, ERR_RANGE,
                       "--world-size: got %lld, want a multiple of TP x CP x "
                       "PP = %lld (--world gives it)",
                       (long long)world, (long long)one);
    if (world % expert_group)
        return err_set(msg, ERR_RANGE,
                       "--expert-model-parallel-size %d: EP x ETP x PP = %lld "
                       "does not divide the world size %lld",
                       p->ep, (long long)expert_group, (long long)world);
    // no cluster has more; products of ranks then fit into 64 bits
    if (world > 1 << 24)
        return err_set(msg, ERR_RANGE,
                       "--world-size: got %lld, want at most %d",
                       (long long)world, 1 << 24);
    p->world = (int)world;
    p->dp = (int)(world / one);
    return ERR_OK;
}

/* Chunks a rank that the layout has; 1 for one that cannot be read. */
static enum err layout_chunks(struct arena *a, const char *text, int pp,
                              int *out, struct err_msg *msg)
{
    struct layout l;
    enum layout_error e = layout_parse(a, text, pp, &l, NULL);
    if (e == LAYOUT_NO_MEMORY)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    *out = e == LAYOUT_OK ? l.vpp : 1;
    return ERR_OK;
}

/* Segments a rank; what does not divide is left to the check of the pattern. */
static enum err pattern_chunks(struct arena *a, const struct megatron_flags *f,
                               int pp, int *out, struct err_msg *msg)
{
    struct megatron_hybrid h;
    enum err e = hybrid_read(a, f, &h, msg);
    if (e == ERR_OK && h.n_segments % pp == 0)
        *out = h.n_segments / pp;
    return e;
}

/* What does not divide is left to the check of the layout itself. */
enum err megatron_virtual_stages(struct arena *a,
                                 const struct megatron_flags *f, int *out,
                                 struct err_msg *msg)
{
    const int pp = (int)flags_int(f, FLAG_PP, 1);
    const char *text = flags_text(f, FLAG_LAYOUT);
    *out = (int)flags_int(f, FLAG_VPP, 1);
    if (flags_given(f, FLAG_VPP))
        return ERR_OK;
    if (hybrid_flag(f) != FLAG_NONE)
        return pattern_chunks(a, f, pp, out, msg);
    if (text && pp > 1) // Megatron interleaves over two ranks or more
        return layout_chunks(a, text, pp, out, msg);
    int64_t each = flags_int(f, FLAG_LAYERS_PER_VPP, 0);
    int64_t layers = flags_int(f, FLAG_NUM_LAYERS, 1) +
                     flags_given(f, FLAG_ACCOUNT_EMBEDDING) +
                     flags_given(f, FLAG_ACCOUNT_LOSS);
    if (!text && each && layers % (each * pp) == 0)
        *out = (int)(layers / (each * pp));
    return ERR_OK;
}

/* Expert tensor parallelism is TP's where it is not given, as in Megatron. */
static enum err set_parallel(struct arena *a, const struct megatron_flags *f,
                             struct model *m, struct err_msg *msg)
{
    struct parallel *p = &m->par;
    p->tp = (int)flags_int(f, FLAG_TP, 1);
    p->pp = (int)flags_int(f, FLAG_PP, 1);
    p->cp = (int)flags_int(f, FLAG_CP, 1);
    p->ep = (int)flags_int(f, FLAG_EP, 1);
    p->etp = (int)flags_int(f, FLAG_ETP, p->tp);
    enum err e = megatron_virtual_stages(a, f, &p->vpp, msg);
    if (e != ERR_OK)
        return e;
    m->optimizer_instances = flags_int(f, FLAG_DIST_OPT_INSTANCES, 1);
    m->split = (struct default_split){
        .first_layers = (int)flags_int(f, FLAG_FIRST_LAYERS, 0),
        .last_layers = (int)flags_int(f, FLAG_LAST_LAYERS, 0),
        .virtual_stages = flags_given(f, FLAG_VPP),
        .chunk_layers = flags_given(f, FLAG_VPP)
                            ? 0
                            : (int)flags_int(f, FLAG_LAYERS_PER_VPP, 0),
        .count_embedding = flags_given(f, FLAG_ACCOUNT_EMBEDDING),
        .count_loss = flags_given(f, FLAG_ACCOUNT_LOSS)};
    return megatron_model_set_world(f, p, msg);
}

/* One micro-batch a replica where no global batch is given, as in Megatron. */
static enum err set_batch(const struct megatron_flags *f, struct model *m,
                          struct err_msg *msg)
{
    struct batch *b = &m->batch;
    b->micro_batch = flags_int(f, FLAG_MICRO_BATCH_SIZE, 1);
    int64_t one = b->micro_batch * m->par.dp;
    b->global_batch = flags_int(f, FLAG_GLOBAL_BATCH_SIZE, one);
    if (b->global_batch % one)
        return err_set(msg, ERR_RANGE,
                       "--global-batch-size: got %lld, want a multiple of "
                       "micro-batch %lld x data-parallel size %d",
                       (long long)b->global_batch, (long long)b->micro_batch,
                       m->par.dp);
    b->n_microbatches = b->global_batch / one;
    return ERR_OK;
}

/* ---- the whole ---- */

/* The bars are the layout of a hybrid model; virtual stages of one's own stand
 * for bars that are to be found. */
static enum err check_one_layout(const struct megatron_flags *f,
                                 const struct megatron_hybrid *h,
                                 struct err_msg *msg)
{
    if (!h->text || !flags_given(f, FLAG_LAYOUT))
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "--pipeline-model-parallel-layout: Megatron takes none "
                   "beside --hybrid-layer-pattern, want bars in the pattern");
}

/* What Megatron refuses: parts that the ranks cannot share evenly. */
static enum err check_shares(const struct model *m, struct err_msg *msg)
{
    const struct {
        const char *what, *ranks;
        int64_t n;
        int among;
    } shares[] = {
        {"--num-attention-heads", "--tensor-model-parallel-size", m->n_heads,
         m->par.tp},
        {"--num-experts", "--expert-model-parallel-size", m->n_experts,
         m->par.ep},
        {"--linear-num-key-heads",
         "--tensor-model-parallel-size x --context-parallel-size",
         m->linear.k_heads, m->par.tp * m->par.cp},
        {"--seq-length", "--context-parallel-size", m->batch.seq_tokens,
         m->batch.seq_tokens > 1 ? m->par.cp : 1},
    };
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (shares[i].n % shares[i].among)
            return err_set(msg, ERR_RANGE, "%s %lld is not a multiple of %s %d",
                           shares[i].what, (long long)shares[i].n,
                           shares[i].ranks, shares[i].among);
    if (m->no_overlap_p2p && m->overlap_p2p_flush)
        return err_set(msg, ERR_RANGE,
                       "--overlap-p2p-communication-warmup-flush needs "
                       "overlapped communication, want no "
                       "--no-overlap-p2p-communication");
    if (!m->n_experts && m->par.ep > 1)
        return err_set(msg, ERR_RANGE,
                       "--expert-model-parallel-size %d: the model has no "
                       "experts",
                       m->par.ep);
    return ERR_OK;
}

/* In the order of dependence: experts need layers, ranks the virtual stages,
 * micro-batches the ranks, the padded vocabulary TP. */
static enum err read_parts(struct arena *a, const struct megatron_flags *f,
                           const struct megatron_hybrid *h, struct model *m,
                           struct err_msg *msg)
{
    enum err e = check_one_layout(f, h, msg);
    if (e == ERR_OK)
        e = set_attention(a, f, h, m, msg);
    if (e == ERR_OK)
        e = set_experts(a, f, m, msg);
    if (e == ERR_OK)
        e = set_parallel(a, f, m, msg);
    if (e == ERR_OK && h->text)
        e = hybrid_set_model(h, f, m, msg);
    if (e == ERR_OK)
        e = set_batch(f, m, msg);
    if (e == ERR_OK)
        e = set_vocab(f, m, msg);
    if (e == ERR_OK)
        e = weights_check(m, msg);
    return e;
}

/* Defaults in place of values that are not known would be another model. */
static enum err refuse_unknown(const struct megatron_flags *f,
                               struct err_msg *msg)
{
    for (int i = 0; i < N_FLAGS; i++) {
        const struct flag_unknown *u = f->slot[i].unknown;
        if (u && flag_effect((enum flag_id)i) <= FLAG_FX_BATCH &&
            i != FLAG_WORLD_SIZE && i != FLAG_TOKENIZER_TYPE)
            return err_set(msg, ERR_PARSE, "--%s: not known: %s%s%s",
                           flag_name((enum flag_id)i), u->where,
                           *u->where ? ": " : "", u->why);
    }
    return ERR_OK;
}

/* Widths first, of which the parts take their defaults; then whether ranks can
 * share them. */
static enum err model_of_flags(struct arena *a, const struct megatron_flags *f,
                               const struct megatron_hybrid *h,
                               struct model *out, struct err_msg *msg)
{
    struct model m = {.n_layers = (int)flags_int(f, FLAG_NUM_LAYERS, 1),
                      .n_mtp = (int)flags_int(f, FLAG_MTP_NUM_LAYERS, 0),
                      .overlap_moe_comm = flags_given(f, FLAG_OVERLAP_MOE_COMM),
                      .no_overlap_p2p = flags_given(f, FLAG_NO_OVERLAP_P2P),
                      .overlap_p2p_flush =
                          flags_given(f, FLAG_OVERLAP_P2P_FLUSH),
                      .mtp_repeated = flags_given(f, FLAG_MTP_REPEATED),
                      .hidden = flags_int(f, FLAG_HIDDEN_SIZE, 1),
                      .gated = flags_given(f, FLAG_SWIGLU) ||
                               flags_given(f, FLAG_QUICK_GEGLU),
                      .tied = !flags_given(f, FLAG_UNTIE),
                      .layernorm = flags_is(f, FLAG_NORMALIZATION, "LayerNorm"),
                      .linear_bias = !flags_given(f, FLAG_DISABLE_BIAS_LINEAR)};
    m.ffn =
        flags_int(f, FLAG_FFN_HIDDEN_SIZE, megatron_default_ffn(f, m.hidden));
    m.batch.seq_tokens = flags_int(f, FLAG_SEQ_LENGTH, 1);
    enum err e = read_parts(a, f, h, &m, msg);
    if (e == ERR_OK)
        e = check_shares(&m, msg);
    if (e != ERR_OK)
        return e;
    // never fails: what it cannot model it notes as a refusal
    megatron_memory(f, &m.memory);
    *out = m;
    return ERR_OK;
}

/* The flags are settled in a copy: what was given stays as it was told. */
enum err megatron_model(struct arena *a, const struct megatron_flags *f,
                        struct model *out, struct err_msg *msg)
{
    const char *where = *f->where ? f->where : "model";
    struct megatron_hybrid h;
    struct megatron_flags own;
    enum err e = hybrid_settle(a, f, &h, &own, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", where);
    e = flags_check_ranges(&own, msg);
    if (e == ERR_OK)
        e = refuse_unknown(&own, msg);
    if (e != ERR_OK)
        return e;
    e = model_of_flags(a, &own, &h, out, msg);
    return e == ERR_OK ? e : err_prefix(msg, e, "%s", where);
}
