#include "model.h"

static const struct {
    char letter;
    const char *name;
} kinds[N_KINDS] = {
    [KIND_E] = {'E', "E"},
    [KIND_T] = {'t', "t"},
    [KIND_T_DENSE] = {'t', "t_dense"},
    [KIND_M] = {'m', "m"},
    [KIND_L] = {'L', "L"},
};

const struct memory_rules MEMORY_MEGATRON = {
    .param_bytes = 2, .grad_bytes = 4, .optimizer_bytes = 12, .value_bytes = 2};
const struct memory_rules MEMORY_MOE_TRAIN = {
    .param_bytes = 4, .grad_bytes = 4, .optimizer_bytes = 8, .value_bytes = 4};

char kind_letter(enum unit_kind kind)
{
    return kinds[kind].letter;
}

const char *kind_name(enum unit_kind kind)
{
    return kinds[kind].name;
}

enum unit_kind model_layer_kind(const struct model *m, int layer)
{
    return m->n_experts == 0 || m->layer_moe[layer] ? KIND_T : KIND_T_DENSE;
}

int model_unit_count(const struct model *m, enum unit_kind kind)
{
    if (kind == KIND_E || kind == KIND_L)
        return 1;
    if (kind == KIND_M)
        return m->n_mtp;
    int n = 0;
    for (int i = 0; i < m->n_layers; i++)
        n += model_layer_kind(m, i) == kind;
    return n;
}

/* ---- parameters ---- */

static int64_t norm_params(const struct model *m, int64_t width)
{
    return m->layernorm ? 2 * width : width;
}

/* Multi-latent attention: queries through a latent of q_lora (or straight),
 * keys and values through one of kv_lora beside the rotary part. */
static int64_t mla_params(const struct model *m)
{
    int64_t h = m->hidden, q = m->n_heads * (m->qk_dim + m->qk_rope_dim);
    int64_t n = m->q_lora ? h * m->q_lora + m->q_lora * q : h * q;
    n += h * (m->kv_lora + m->qk_rope_dim);
    n += m->kv_lora * m->n_heads * (m->qk_dim + m->v_dim);
    n += m->n_heads * m->v_dim * h;
    if (m->linear_bias)
        n += h;
    if (m->qk_norm)
        n += norm_params(m, m->kv_lora) +
             (m->q_lora ? norm_params(m, m->q_lora) : 0);
    return n;
}

static int64_t qk_norm_params(const struct model *m)
{
    if (m->qk_norm_full)
        return norm_params(m, m->n_heads * m->head_dim) +
               norm_params(m, m->n_kv_heads * m->head_dim);
    return 2 * norm_params(m, m->head_dim);
}

static int64_t attention_params(const struct model *m)
{
    int64_t sinks = m->sinks ? m->n_heads : 0;
    if (m->mla)
        return mla_params(m) + sinks;
    int64_t q = m->n_heads * m->head_dim, kv = m->n_kv_heads * m->head_dim;
    int64_t n = m->hidden * (q + 2 * kv) + q * m->hidden + sinks;
    if (m->linear_bias || m->qkv_bias)
        n += q + 2 * kv;
    if (m->linear_bias)
        n += m->hidden;
    if (m->qk_norm)
        n += qk_norm_params(m);
    return n;
}

/* An MLP from and to vectors of `outer`. */
static int64_t mlp_params(const struct model *m, int64_t outer, int64_t width)
{
    int64_t in = m->gated ? 2 * width : width;
    int64_t bias = m->linear_bias ? in + outer : 0;
    return outer * (in + width) + bias;
}

/* Megatron's router has a bias where linear layers have one; its shared
 * expert never has. */
static int64_t experts_params(const struct model *m, int64_t n_used)
{
    int64_t h = m->hidden, bias = m->linear_bias;
    int64_t n = m->n_experts * (h + bias);
    if (m->expert_bias && m->count_bias)
        n += m->n_experts;
    if (m->latent)
        n += 2 * h * m->latent + bias * (h + m->latent);
    n += n_used * mlp_params(m, m->latent ? m->latent : h, m->moe_ffn);
    if (m->shared_ffn)
        n += h * m->shared_ffn * (m->gated ? 3 : 2) + (m->shared_gate ? h : 0);
    return n;
}

/* One decoder layer with `n_used` of its experts counted. */
static int64_t layer_params(const struct model *m, enum unit_kind kind,
                            int64_t n_used)
{
    int64_t n = attention_params(m) + 2 * norm_params(m, m->hidden);
    if (m->n_experts == 0 || kind == KIND_T_DENSE)
        return n + mlp_params(m, m->hidden, m->ffn);
    return n + experts_params(m, n_used);
}

static enum unit_kind last_layer_kind(const struct model *m)
{
    return model_layer_kind(m, m->n_layers - 1);
}

static int64_t unit_params(const struct model *m, enum unit_kind kind,
                           int64_t n_used)
{
    const int64_t h = m->hidden;
    switch (kind) {
    case KIND_E:
        return (m->padded_vocab +
                (m->learned_positions ? m->max_positions : 0)) *
               h;
    case KIND_M:
        return 3 * norm_params(m, h) + 2 * h * h +
               layer_params(m, last_layer_kind(m), n_used);
    case KIND_L:
        return norm_params(m, h) + (m->tied ? 0 : m->padded_vocab * h);
    default:
        return layer_params(m, kind, n_used);
    }
}

int64_t model_unit_params(const struct model *m, enum unit_kind kind)
{
    return unit_params(m, kind, m->n_experts);
}

int64_t model_unit_active_params(const struct model *m, enum unit_kind kind)
{
    return unit_params(m, kind, m->topk);
}

static int64_t model_total(const struct model *m, int64_t n_used)
{
    return unit_params(m, KIND_E, n_used) + unit_params(m, KIND_L, n_used) +
           model_unit_count(m, KIND_T) * unit_params(m, KIND_T, n_used) +
           model_unit_count(m, KIND_T_DENSE) *
               unit_params(m, KIND_T_DENSE, n_used);
}

int64_t model_total_params(const struct model *m)
{
    return model_total(m, m->n_experts);
}

int64_t model_active_params(const struct model *m)
{
    return model_total(m, m->topk);
}

int64_t model_active_params_no_lookup(const struct model *m)
{
    return model_active_params(m) - (m->tied ? 0 : m->padded_vocab * m->hidden);
}

int64_t model_mtp_params(const struct model *m)
{
    if (!m->n_mtp)
        return 0;
    return (m->mtp_repeated ? 1 : m->n_mtp) * model_unit_params(m, KIND_M);
}

/* ---- floating-point operations ---- */

/* Does this layer attend to all tokens? Megatron: without a skip frequency
 * every layer is windowed, else every Nth (1-based) is not. */
static bool attends_to_all(const struct model *m, int layer)
{
    return !m->window || (m->window_skip && (layer + 1) % m->window_skip == 0);
}

/* Keys that one query meets on the average: half of the sequence, or within a
 * window of w tokens, w less the corner at the start. */
static double mean_keys(const struct model *m, bool all)
{
    double s = (double)m->batch.seq_tokens, w = (double)m->window;
    return all || w >= s ? s / 2 : w * (1 - w / (2 * s));
}

/* Mean of mean_keys() over the layers of the kind. */
static double kind_keys(const struct model *m, enum unit_kind kind)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < m->n_layers; i++)
        if (model_layer_kind(m, i) == kind) {
            sum += mean_keys(m, attends_to_all(m, i));
            n++;
        }
    return n ? sum / n : mean_keys(m, true);
}

/* Parameters that are factors of a matrix product for one token. */
static double matrix_params(const struct model *m, enum unit_kind kind)
{
    struct model plain = *m;
    plain.linear_bias = plain.qkv_bias = plain.qk_norm = false;
    plain.sinks = plain.count_bias = false;
    return (double)(layer_params(&plain, kind, m->topk) -
                    2 * norm_params(m, m->hidden));
}

static double layer_fwd_flops(const struct model *m, enum unit_kind kind)
{
    double tokens = (double)(m->batch.micro_batch * m->batch.seq_tokens);
    int64_t qk = m->mla ? m->qk_dim + m->qk_rope_dim : m->head_dim;
    int64_t v = m->mla ? m->v_dim : m->head_dim;
    double attention =
        2 * tokens * kind_keys(m, kind) * (double)(m->n_heads * (qk + v));
    return attention + 2 * tokens * matrix_params(m, kind);
}

double model_unit_fwd_flops(const struct model *m, enum unit_kind kind)
{
    double tokens = (double)(m->batch.micro_batch * m->batch.seq_tokens);
    double h = (double)m->hidden;
    switch (kind) {
    case KIND_E:
        return 0;
    case KIND_M:
        return m->n_mtp ? 2 * tokens * 2 * h * h +
                              layer_fwd_flops(m, last_layer_kind(m))
                        : 0;
    case KIND_L:
        return (1 + m->n_mtp) * 2 * tokens * h * (double)m->padded_vocab;
    default:
        return layer_fwd_flops(m, kind);
    }
}

/* ---- fingerprint ---- */

int model_facts(const struct model *m, struct model_fact facts[MODEL_N_FACTS])
{
    const struct model_fact all[] = {
        {"num_layers", m->n_layers},
        {"mtp_num_layers", m->n_mtp},
        {"hidden_size", m->hidden},
        {"ffn_hidden_size", m->ffn},
        {"num_attention_heads", m->n_heads},
        {"num_query_groups", m->n_kv_heads},
        {"kv_channels", m->head_dim},
        {"padded_vocab_size", m->padded_vocab},
        {"num_experts", m->n_experts},
        {"moe_layers", m->n_experts ? model_unit_count(m, KIND_T) : 0},
        {"moe_ffn_hidden_size", m->n_experts ? m->moe_ffn : 0},
        {"moe_router_topk", m->n_experts ? m->topk : 0},
        {"moe_shared_expert_intermediate_size", m->shared_ffn},
        {"tied", m->tied},
        {"tensor_model_parallel_size", m->par.tp},
        {"context_parallel_size", m->par.cp},
        {"expert_model_parallel_size", m->par.ep},
        {"micro_batch_size", m->batch.micro_batch},
        {"seq_length", m->batch.seq_tokens},
        {"data_parallel_size", m->par.dp},
        {"moe_latent_size", m->latent},
        {"q_lora_rank", m->q_lora},
        {"kv_lora_rank", m->kv_lora},
    };
    // Megatron states a latent width also where it has no effect
    int n = (int)(sizeof all / sizeof all[0]) - (m->mla ? 0 : 2);
    for (int i = 0; i < n; i++)
        facts[i] = all[i];
    return n;
}
