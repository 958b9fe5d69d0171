/*
 * How it works: activations are what autograd keeps of a forward pass, listed
 * tensor by tensor as in Korthikanti et al. (2022), section 4, with what
 * Megatron's kernels keep beyond it or no longer keep. Inside tensor-parallel
 * regions a tensor is divided by its width, between them by sequence
 * parallelism. A recomputed part keeps its input only.
 */
#include "activations.h"

#include "mixers.h"
#include "model/as_hybrid.h"

#include <stdbool.h>

// bytes: of a bf16 and of an fp32 value; a logit and its fp32 copy; the same
// with the fused loss, and with Transformer Engine's (memory_head_bytes() says
// why)
enum {
    ACT_BF16 = 2,
    ACT_FP32 = 4,
    ACT_LOGIT = 6,
    ACT_LOGIT_FUSED = 10,
    ACT_LOGIT_TE = 6
};

/* Tokens of one micro-batch on a rank: in tensor-parallel regions, and
 * between them. */
struct tokens {
    int64_t inside, between;
};

/* Context parallelism divides the sequence everywhere, sequence parallelism
 * only what stands between the tensor-parallel regions. */
static struct tokens tokens_of(const struct model *m)
{
    int64_t n = m->batch.micro_batch * m->batch.seq_tokens / m->par.cp;
    bool divided = m->memory.sequence_parallel;
    return (struct tokens){n, divided ? n / m->par.tp : n};
}

static bool activations_recomputes(const struct memory_options *o,
                                   enum recompute_module r)
{
    return o->recompute >> r & 1U;
}

int64_t memory_value_bytes(const struct memory_options *o)
{
    return o->fp32 ? ACT_FP32 : ACT_BF16;
}

/* Bytes of a value that a linear layer keeps of its input: FP8 keeps the cast.
 */
static int64_t input_value(const struct memory_options *o)
{
    return o->fp8 ? 1 : memory_value_bytes(o);
}

int64_t memory_hidden_bytes(const struct model *m)
{
    return memory_value_bytes(&m->memory) * tokens_of(m).between * m->hidden;
}

/* One byte for each value that dropout may drop. */
static int64_t dropout_mask(const struct model *m)
{
    return m->memory.hidden_dropout ? tokens_of(m).between * m->hidden : 0;
}

/* Bytes of a layer by the part of it that keeps them: those that can be
 * offloaded are named as Megatron names them, `rest` stays. */
struct parts {
    int64_t of[N_OFFLOAD], rest;
};

/* ---- attention ---- */

static int64_t scores_of(const struct model *m)
{
    const struct batch *b = &m->batch;
    return b->micro_batch * m->n_heads / m->par.tp * b->seq_tokens *
           b->seq_tokens / m->par.cp;
}

int64_t memory_scores_bytes(const struct model *m)
{
    const struct memory_options *o = &m->memory;
    return o->unfused_attention ? memory_value_bytes(o) * scores_of(m) : 0;
}

/* Scores of an unfused attention: the softmax's output, and where there is
 * dropout, its mask and its output. Fused: the output once more, as the
 * backward kernel wants it in its own order. */
static int64_t core_bytes(const struct model *m, const struct memory_options *o,
                          int64_t out_width)
{
    const int64_t value = memory_value_bytes(o);
    if (!o->unfused_attention)
        return value * tokens_of(m).inside * out_width / m->par.tp;
    if (activations_recomputes(o, RECOMPUTE_CORE_ATTN))
        return 0;
    return scores_of(m) * (o->attention_dropout ? value + 1 + value : value);
}

/* q, k, v, the rotated q and k, the output. */
static void plain_attention(const struct model *m,
                            const struct memory_options *o, struct parts *p)
{
    int64_t q = m->n_heads * m->head_dim, kv = m->n_kv_heads * m->head_dim;
    int64_t values = q + 2 * kv + (m->learned_positions ? 0 : q + kv);
    int64_t inside = tokens_of(m).inside;
    p->of[OFFLOAD_CORE_ATTN] =
        inside * memory_value_bytes(o) * values / m->par.tp +
        core_bytes(m, o, q);
    p->of[OFFLOAD_ATTN_PROJ] = inside * input_value(o) * q / m->par.tp;
}

/* Latents before and after their norms, then q, k, v of full width and the
 * output. */
static void latent_attention(const struct model *m,
                             const struct memory_options *o, struct parts *p)
{
    struct tokens t = tokens_of(m);
    const int64_t value = memory_value_bytes(o);
    int64_t q = m->n_heads * (m->qk_dim + m->qk_rope_dim);
    int64_t v = m->n_heads * m->v_dim;
    // before and behind the norm; the rotary part has none
    int64_t latents = 2 * m->q_lora + 2 * m->kv_lora + m->qk_rope_dim;
    int64_t wide =
        activations_recomputes(o, RECOMPUTE_MLA_UP_PROJ) ? 0 : 2 * q + v;
    p->of[OFFLOAD_QKV_LINEAR] = value * t.between * latents;
    p->of[OFFLOAD_CORE_ATTN] =
        t.inside * value * wide / m->par.tp + core_bytes(m, o, v);
    p->of[OFFLOAD_ATTN_PROJ] = t.inside * input_value(o) * v / m->par.tp;
}

/* Sparse attention works on latents (absorbed_mla.py): queries of full width,
 * the same as latents with their rotary part, keys that all heads share, and
 * the output as latents and as values; an indexer beside it. */
static void sparse_attention(const struct model *m,
                             const struct memory_options *o, struct parts *p)
{
    struct tokens t = tokens_of(m);
    const int64_t value = memory_value_bytes(o), tp = m->par.tp;
    int64_t latents = 2 * m->q_lora + 2 * m->kv_lora + m->qk_rope_dim;
    int64_t key = m->kv_lora + m->qk_rope_dim;
    int64_t heads = m->n_heads / tp;
    int64_t wide = heads * (m->qk_dim + m->qk_rope_dim + key) + key;
    if (activations_recomputes(o, RECOMPUTE_MLA_UP_PROJ))
        wide = 0;
    p->of[OFFLOAD_QKV_LINEAR] = value * t.between * latents;
    p->of[OFFLOAD_CORE_ATTN] = value * t.inside * (wide + heads * m->kv_lora);
    p->of[OFFLOAD_ATTN_PROJ] = t.inside * input_value(o) * heads * m->v_dim;
    p->rest += memory_indexer_bytes(m, o);
}

static void attention_parts(const struct model *m, enum unit_kind symbol,
                            const struct memory_options *o, struct parts *p)
{
    p->rest += dropout_mask(m);
    if (symbol == KIND_ATTENTION)
        plain_attention(m, o, p);
    else if (symbol == KIND_SPARSE)
        sparse_attention(m, o, p);
    else if (symbol == KIND_LATENT)
        latent_attention(m, o, p);
    else
        p->rest += memory_mixer_bytes(m, symbol, o);
}

/* ---- MLPs ---- */

/* Output of the first projection and of the activation function; a function
 * that is not fused keeps its input's half once more. */
struct mlp_rows {
    int64_t rows, width;
    bool unfused, recomputed; // of the activation function
};

static int64_t projected_bytes(const struct model *m,
                               const struct memory_options *o,
                               struct mlp_rows r)
{
    return r.rows * r.width * memory_value_bytes(o) * (m->gated ? 2 : 1);
}

static int64_t activated_bytes(const struct memory_options *o,
                               struct mlp_rows r)
{
    int64_t each = input_value(o) + (r.unfused ? memory_value_bytes(o) : 0);
    return r.recomputed ? 0 : r.rows * r.width * each;
}

static int64_t mlp_bytes(const struct model *m, const struct memory_options *o,
                         struct mlp_rows r)
{
    return projected_bytes(m, o, r) + activated_bytes(o, r);
}

/* Rows that routing brings to a rank when it is even: each token `topk` times,
 * on all ranks of an expert-tensor group. What EP sends away comes back from
 * other ranks in the same number. */
static int64_t routed_rows(const struct model *m)
{
    return tokens_of(m).between * m->topk * m->par.etp;
}

static void experts_parts(const struct model *m, const struct memory_options *o,
                          struct parts *p)
{
    int64_t outer = m->latent ? m->latent : m->hidden;
    bool unfused = o->unfused_act && !m->gated;
    const struct mlp_rows routed = {
        routed_rows(m), m->moe_ffn / m->par.etp, unfused,
        activations_recomputes(o, RECOMPUTE_MOE_ACT)};
    const struct mlp_rows shared = {tokens_of(m).inside,
                                    m->shared_ffn / m->par.tp, unfused, false};
    if (activations_recomputes(o, RECOMPUTE_MOE))
        return;
    p->of[OFFLOAD_EXPERT_FC1] = input_value(o) * routed.rows * outer;
    p->of[OFFLOAD_MOE_ACT] = projected_bytes(m, o, routed);
    p->rest += activated_bytes(o, routed);
    if (m->latent)
        // the way down and the way up
        p->rest += memory_value_bytes(o) * tokens_of(m).between * 2 * m->latent;
    if (m->shared_ffn && !activations_recomputes(o, RECOMPUTE_SHARED_EXPERTS))
        p->rest += mlp_bytes(m, o, shared);
}

static int64_t dense_bytes(const struct model *m,
                           const struct memory_options *o)
{
    if (activations_recomputes(o, RECOMPUTE_MLP))
        return 0;
    return mlp_bytes(m, o,
                     (struct mlp_rows){tokens_of(m).inside, m->ffn / m->par.tp,
                                       o->unfused_act, false});
}

/* ---- units ---- */

/* Mamba, gated delta net or attention: its input with what the norm makes of
 * it, and itself. A norm that is part of the linear layer behind it (no latent
 * attention) has no group of its own. Mamba's is no module of recompute. */
static struct parts mixer_parts(const struct model *m, enum unit_kind symbol,
                                const struct memory_options *o)
{
    struct parts p = {.rest = 0};
    const int64_t hidden = memory_hidden_bytes(m);
    const int64_t cast = hidden / memory_value_bytes(o) * input_value(o);
    const bool latent = symbol == KIND_LATENT || symbol == KIND_SPARSE;
    attention_parts(m, symbol, o, &p);
    p.of[latent ? OFFLOAD_ATTN_NORM : OFFLOAD_QKV_LINEAR] += hidden;
    if (!activations_recomputes(o, RECOMPUTE_LAYERNORM) || symbol == KIND_MAMBA)
        p.of[OFFLOAD_QKV_LINEAR] += cast;
    return p;
}

/* MLP or experts, in the same way; the experts' norm has a group. */
static struct parts mlp_parts(const struct model *m, enum unit_kind symbol,
                              const struct memory_options *o)
{
    struct parts p = {.rest = dropout_mask(m)};
    const bool experts = symbol == KIND_EXPERTS;
    const int64_t hidden = memory_hidden_bytes(m);
    const int64_t cast = hidden / memory_value_bytes(o) * input_value(o);
    *(experts ? &p.of[OFFLOAD_MLP_NORM] : &p.rest) += hidden;
    // the router reads what the MLP's norm made of it as it is
    if (!activations_recomputes(o, RECOMPUTE_LAYERNORM))
        p.rest += experts ? hidden : cast;
    if (experts)
        experts_parts(m, o, &p);
    else
        p.rest += dense_bytes(m, o);
    return p;
}

/* A symbol of a hybrid model, or both halves of a GPT model's layer. */
static struct parts layer_parts(const struct model *m, enum unit_kind kind,
                                const struct memory_options *o)
{
    enum unit_kind half[2];
    if (kind == KIND_MLP || kind == KIND_EXPERTS)
        return mlp_parts(m, kind, o);
    if (kind_is_symbol(kind))
        return mixer_parts(m, kind, o);
    model_layer_halves(m, kind, half);
    struct parts p = mixer_parts(m, half[0], o);
    const struct parts more = mlp_parts(m, half[1], o);
    p.rest += more.rest;
    for (int i = 0; i < N_OFFLOAD; i++)
        p.of[i] += more.of[i];
    return p;
}

static int64_t layer_bytes(const struct model *m, enum unit_kind kind,
                           const struct memory_options *o)
{
    struct parts p = layer_parts(m, kind, o);
    int64_t n = p.rest;
    for (int i = 0; i < N_OFFLOAD; i++)
        n += p.of[i];
    return n;
}

/* Full recompute keeps the input of every group of layers: of symbols in a
 * hybrid model (core/recompute.py). */
static int64_t kept_of_layer(const struct model *m, enum unit_kind kind,
                             const struct memory_options *o)
{
    if (o->full_recompute == RECOMPUTE_UNIFORM)
        return memory_hidden_bytes(m) /
               (o->recompute_layers > 1 ? o->recompute_layers : 1);
    if (o->full_recompute == RECOMPUTE_BLOCK)
        return memory_hidden_bytes(m);
    return layer_bytes(m, kind, o);
}

/* The layer within MTP, or the layers of a depth of a hybrid model. */
static int64_t kept_within_mtp(const struct model *m,
                               const struct memory_options *o)
{
    int64_t n = 0;
    if (!model_is_hybrid(m))
        return kept_of_layer(m, model_layer_kind(m, m->n_layers - 1), o);
    for (const char *s = m->mtp_symbols; s && *s; s++)
        n += kept_of_layer(m, kind_of_symbol(*s), o);
    return n;
}

/* E keeps only the mask of its dropout: token numbers are the batch's. L: the
 * hidden state and what the final norm makes of it. */
static int64_t unit_bytes(const struct model *m, enum unit_kind kind,
                          const struct memory_options *o)
{
    switch (kind) {
    case KIND_E:
        return dropout_mask(m);
    case KIND_M: // looked-up embedding, two norms' outputs, projection's input
        return 5 * memory_hidden_bytes(m) + kept_within_mtp(m, o);
    case KIND_L:
        return 2 * memory_hidden_bytes(m);
    default:
        return kept_of_layer(m, kind, o);
    }
}

int64_t memory_unit_activations(const struct model *m, enum unit_kind kind)
{
    return unit_bytes(m, kind, &m->memory);
}

static struct memory_options without_recompute(const struct memory_options *o)
{
    struct memory_options plain = *o;
    plain.recompute = 0;
    plain.full_recompute = RECOMPUTE_NONE;
    return plain;
}

int64_t memory_unit_activations_plain(const struct model *m,
                                      enum unit_kind kind)
{
    const struct memory_options plain = without_recompute(&m->memory);
    return unit_bytes(m, kind, &plain);
}

static void keep_larger(int64_t *most, int64_t n)
{
    *most = n > *most ? n : *most;
}

/* A layer that is recomputed whole counts with the mixers. */
static void recomputed_of_layer(const struct model *m, enum unit_kind kind,
                                struct memory_recomputed *out)
{
    const struct memory_options plain = without_recompute(&m->memory);
    const bool full = m->memory.full_recompute != RECOMPUTE_NONE;
    enum unit_kind half[2];
    if (!full && !kind_is_symbol(kind)) {
        model_layer_halves(m, kind, half);
        recomputed_of_layer(m, half[0], out);
        recomputed_of_layer(m, half[1], out);
        return;
    }
    const bool mlp = kind == KIND_MLP || kind == KIND_EXPERTS;
    keep_larger(mlp && !full ? &out->mlp : &out->mixer,
                kept_of_layer(m, kind, &plain) -
                    kept_of_layer(m, kind, &m->memory));
}

struct memory_recomputed memory_unit_recomputed(const struct model *m,
                                                enum unit_kind kind)
{
    struct memory_recomputed out = {0, 0};
    if (kind == KIND_M && !model_is_hybrid(m))
        kind = model_layer_kind(m, m->n_layers - 1);
    if (kind_is_layer(kind))
        recomputed_of_layer(m, kind, &out);
    for (const char *s = m->mtp_symbols; kind == KIND_M && s && *s; s++)
        recomputed_of_layer(m, kind_of_symbol(*s), &out);
    return out;
}

void memory_unit_offloads(const struct model *m, enum unit_kind kind,
                          int64_t out[N_OFFLOAD])
{
    const struct memory_options *o = &m->memory;
    const int64_t least = o->offload_min_values * memory_value_bytes(o);
    struct parts p = {.rest = 0};
    if (o->offload && kind != KIND_E && kind != KIND_L)
        p = layer_parts(
            m, kind == KIND_M ? model_layer_kind(m, m->n_layers - 1) : kind, o);
    for (int i = 0; i < N_OFFLOAD; i++)
        out[i] = o->offload >> i & 1U && p.of[i] >= least ? p.of[i] : 0;
}

/* ---- loss ---- */

static int64_t activations_logits(const struct model *m)
{
    return tokens_of(m).inside * (m->padded_vocab / m->par.tp);
}

/* While the output layer's own weight gradient is made, its tensor stands
 * beside the logits' gradient, unless the GEMM adds to the gradient buffer. */
static int64_t output_grad_bytes(const struct model *m)
{
    const int64_t value = memory_value_bytes(&m->memory);
    int64_t weight = m->padded_vocab / m->par.tp * m->hidden;
    return value *
           (activations_logits(m) + (m->memory.grad_fusion ? 0 : weight));
}

/* What a pass leaves for its backward: the softmax in fp32, as the logits
 * themselves are not kept (core/tensor_parallel/cross_entropy.py saves no more
 * than the exponentials). */
static int64_t left_by_pass(const struct memory_options *o)
{
    return o->te_loss && !o->fp32 ? ACT_LOGIT_TE : ACT_FP32;
}

/* The passes of MTP depths come first, and one at a time. Where all is fp32 the
 * logits are their own copy: softmax and gradient are written over them, and
 * the fused kernels make one tensor more. */
int64_t memory_head_bytes(const struct model *m)
{
    const struct memory_options *o = &m->memory;
    bool fused = o->te_loss || o->loss_fusion;
    int64_t each = o->te_loss       ? ACT_LOGIT_TE
                   : o->loss_fusion ? ACT_LOGIT_FUSED
                                    : ACT_LOGIT;
    if (o->fp32)
        each = fused ? 2 * ACT_FP32 : ACT_FP32;
    int64_t passes = left_by_pass(o) * m->n_mtp;
    if (m->n_mtp && !o->mtp_logits_freed && !o->te_loss)
        passes += o->fp32 ? 0 : ACT_BF16; // of the last depth
    int64_t loss = activations_logits(m) * (each + passes);
    return loss > output_grad_bytes(m) ? loss : output_grad_bytes(m);
}

int64_t memory_deferred_bytes(const struct model *m)
{
    int64_t n = m->memory.loss_deferral;
    if (n > m->batch.n_microbatches)
        n = m->batch.n_microbatches;
    return n * memory_value_bytes(&m->memory) * activations_logits(m);
}
