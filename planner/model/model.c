/*
 * How it works: all counts come from the table of a unit's weights (weights.c),
 * for the whole model on one rank: parameters are the sum of its rows, active
 * ones count each expert matrix top-k times, FLOPs are two for each parameter
 * that is a factor of a product, and the scores of attention on top.
 */
#include "model.h"

#include "weights.h"

#include <stddef.h>
#include <string.h>

static const struct {
    char letter, symbol;
    const char *name;
} kinds[N_KINDS] = {
    [KIND_E] = {'E', 0, "E"},
    [KIND_T] = {'t', 0, "t"},
    [KIND_T_DENSE] = {'t', 0, "t_dense"},
    [KIND_T_LEAN] = {'t', 0, "t_lean"},
    [KIND_T_DENSE_LEAN] = {'t', 0, "t_dense_lean"},
    [KIND_M] = {'m', 0, "m"},
    [KIND_L] = {'L', 0, "L"},
    [KIND_MAMBA] = {'t', 'M', "mamba"},
    [KIND_DELTA] = {'t', 'G', "delta"},
    [KIND_ATTENTION] = {'t', '*', "attention"},
    [KIND_LATENT] = {'t', '+', "latent"},
    [KIND_SPARSE] = {'t', 'D', "sparse"},
    [KIND_MLP] = {'t', '-', "mlp"},
    [KIND_EXPERTS] = {'t', 'E', "experts"},
};

/* Megatron: bf16 parameters, fp32 gradients, and an fp32 copy with two moments
 * in the optimiser. moe-train: fp32 throughout, two moments. */
const struct memory_rules MEMORY_MEGATRON = {.trainer = TRAINER_MEGATRON,
                                             .param_bytes = 2,
                                             .grad_bytes = 4,
                                             .optimizer_bytes = 12,
                                             .value_bytes = 2};
const struct memory_rules MEMORY_MOE_TRAIN = {.trainer = TRAINER_MOE_TRAIN,
                                              .param_bytes = 4,
                                              .grad_bytes = 4,
                                              .optimizer_bytes = 8,
                                              .value_bytes = 4};

static const char *const trainers[] = {
    [TRAINER_MEGATRON] = "megatron", [TRAINER_MOE_TRAIN] = "moe-train"};

const char *trainer_name(enum trainer_kind t)
{
    return trainers[t];
}

bool trainer_from_name(const char *name, enum trainer_kind *out)
{
    for (size_t i = 0; i < sizeof trainers / sizeof trainers[0]; i++)
        if (strcmp(name, trainers[i]) == 0) {
            *out = (enum trainer_kind)i;
            return true;
        }
    return false;
}

const struct memory_rules *memory_rules_of(enum trainer_kind t)
{
    return t == TRAINER_MOE_TRAIN ? &MEMORY_MOE_TRAIN : &MEMORY_MEGATRON;
}

char kind_letter(enum unit_kind kind)
{
    return kinds[kind].letter;
}

const char *kind_name(enum unit_kind kind)
{
    return kinds[kind].name;
}

bool kind_is_layer(enum unit_kind kind)
{
    return kinds[kind].letter == 't';
}

bool kind_is_dense(enum unit_kind kind)
{
    return kind == KIND_T_DENSE || kind == KIND_T_DENSE_LEAN;
}

bool kind_is_lean(enum unit_kind kind)
{
    return kind == KIND_T_LEAN || kind == KIND_T_DENSE_LEAN;
}

bool kind_is_symbol(enum unit_kind kind)
{
    return kinds[kind].symbol != '\0';
}

bool kind_has_scores(enum unit_kind kind)
{
    return kind == KIND_ATTENTION || kind == KIND_LATENT || kind == KIND_SPARSE;
}

char kind_symbol(enum unit_kind kind)
{
    return kinds[kind].symbol;
}

enum unit_kind kind_of_symbol(char symbol)
{
    int k = symbol ? 0 : N_KINDS;
    while (k < N_KINDS && kinds[k].symbol != symbol)
        k++;
    return (enum unit_kind)k;
}

bool model_is_hybrid(const struct model *m)
{
    return m->symbols != NULL;
}

/* No layer of a model without experts is of a dense kind. */
enum unit_kind model_layer_kind(const struct model *m, int layer)
{
    if (m->symbols)
        return kind_of_symbol(m->symbols[layer]);
    bool lean = m->layer_lean && m->layer_lean[layer];
    if (m->n_experts == 0 || m->layer_moe[layer])
        return lean ? KIND_T_LEAN : KIND_T;
    return lean ? KIND_T_DENSE_LEAN : KIND_T_DENSE;
}

enum unit_kind model_mtp_kind(const struct model *m)
{
    enum unit_kind last = model_layer_kind(m, m->n_layers - 1);
    if (!m->indexer.heads)
        return last;
    return kind_is_dense(last) ? KIND_T_DENSE : KIND_T;
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

/* Parameters of a unit with `n_used` of its experts counted. */
static int64_t unit_params(const struct model *m, enum unit_kind kind,
                           int64_t n_used)
{
    struct weights t;
    int64_t n = 0;
    weights_of_unit(m, kind, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++) {
        struct weight w = t.row[i];
        w.count = w.expert ? n_used : w.count;
        n += weight_params(&w);
    }
    return n;
}

/* Token table: of E, of a tied output layer, and the output's own shape. */
static int64_t table_params(const struct model *m)
{
    struct weight table = weights_token_table(m, &WEIGHTS_WHOLE);
    return weight_params(&table);
}

int64_t model_unit_params(const struct model *m, enum unit_kind kind)
{
    return unit_params(m, kind, m->n_experts);
}

int64_t model_unit_active_params(const struct model *m, enum unit_kind kind)
{
    return unit_params(m, kind, m->topk);
}

/* Units of a model card: MTP is not among them. */
static int64_t model_total(const struct model *m, int64_t n_used)
{
    int64_t n = 0;
    for (int k = 0; k < N_KINDS; k++)
        if (k != KIND_M)
            n += model_unit_count(m, (enum unit_kind)k) *
                 unit_params(m, (enum unit_kind)k, n_used);
    return n;
}

int64_t model_total_params(const struct model *m)
{
    return model_total(m, m->n_experts);
}

int64_t model_active_params(const struct model *m)
{
    return model_total(m, m->topk);
}

/* Model cards differ: a look-up uses one row of the table, so some leave the
 * table out; a tied one is used as a matrix by the output, too. */
int64_t model_active_params_no_lookup(const struct model *m)
{
    return model_active_params(m) - (m->tied ? 0 : table_params(m));
}

int64_t model_mtp_params(const struct model *m)
{
    if (!m->n_mtp)
        return 0;
    return (m->mtp_repeated ? 1 : m->n_mtp) * model_unit_params(m, KIND_M);
}

/* ---- floating-point operations ---- */

/* Do queries of the layer meet the keys that an indexer picked? */
static bool is_sparse(const struct model *m, enum unit_kind layer)
{
    return m->indexer.heads && (!kind_is_symbol(layer) || layer == KIND_SPARSE);
}

static bool attends_to_all(const struct model *m, int layer)
{
    return !m->window || !m->layer_window || !m->layer_window[layer];
}

/* Keys that one query meets on the average: half of the sequence, or at most w
 * of them (of a window, or the top-k of an indexer; 0: no bound), which the
 * first w queries do not have. */
static double mean_keys(const struct model *m, int64_t most)
{
    double s = (double)m->batch.seq_tokens, w = (double)most;
    return most == 0 || w >= s ? s / 2 : w * (1 - w / (2 * s));
}

static int64_t most_keys(const struct model *m, int layer)
{
    if (is_sparse(m, model_layer_kind(m, layer)))
        return m->indexer.topk;
    return attends_to_all(m, layer) ? 0 : m->window;
}

/* Mean of mean_keys() over the layers of the kind. */
static double kind_keys(const struct model *m, enum unit_kind kind)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < m->n_layers; i++)
        if (model_layer_kind(m, i) == kind) {
            sum += mean_keys(m, most_keys(m, i));
            n++;
        }
    return n ? sum / n : mean_keys(m, is_sparse(m, kind) ? m->indexer.topk : 0);
}

/* Parameters that are factors of a matrix product for one token. */
static double product_params(const struct model *m, enum unit_kind kind)
{
    struct weights t;
    int64_t n = 0;
    weights_of_unit(m, kind, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++) {
        struct weight w = t.row[i];
        w.count = w.expert ? m->topk : w.count;
        n += WEIGHT_USE[w.role].product ? weight_params(&w) : 0;
    }
    return (double)n;
}

/* Of one key that a query meets: the product with it and with its value. Sparse
 * attention keeps latents and lets all heads share them. */
static int64_t key_products(const struct model *m, enum unit_kind layer)
{
    if (!m->mla || layer == KIND_ATTENTION)
        return m->n_heads * 2 * m->head_dim;
    if (is_sparse(m, layer))
        return m->n_heads * (2 * m->kv_lora + m->qk_rope_dim);
    return m->n_heads * (m->qk_dim + m->qk_rope_dim + m->v_dim);
}

/* Gated delta net updates and reads a state of key x value size: training.py
 * counts four products of that size a head; and seven operations for each entry
 * of Mamba's state. */
static double state_flops(const struct model *m, enum unit_kind layer)
{
    const struct linear_attention *l = &m->linear;
    if (layer == KIND_MAMBA)
        return 7 * (double)(weights_mamba_width(m) * m->mamba.state_dim);
    return 2 * 4 * (double)(l->v_heads * l->k_dim * l->v_dim);
}

/* Queries with keys, and what comes of it with values; an indexer looks at all
 * keys first. */
static double attention_flops(const struct model *m, enum unit_kind layer,
                              double tokens)
{
    if (layer == KIND_MAMBA || layer == KIND_DELTA ||
        (kind_is_lean(layer) && m->linear.v_heads))
        return tokens * state_flops(m, layer);
    if (layer == KIND_MLP || layer == KIND_EXPERTS)
        return 0;
    double products = kind_keys(m, layer) * (double)key_products(m, layer);
    if (is_sparse(m, layer) && !kind_is_lean(layer))
        products +=
            mean_keys(m, 0) * (double)(m->indexer.heads * m->indexer.dim);
    return 2 * tokens * products;
}

/* A product of m x k with k x n takes 2mkn operations; norms, activations and
 * softmax are left out, as in Megatron's own count. */
double model_unit_fwd_flops(const struct model *m, enum unit_kind kind)
{
    double tokens = (double)(m->batch.micro_batch * m->batch.seq_tokens);
    if (kind == KIND_E || (kind == KIND_M && !m->n_mtp))
        return 0;
    if (kind == KIND_L) // tied or not, a product with the table's shape
        return (1 + m->n_mtp) * 2 * tokens * (double)table_params(m);
    double flops = 2 * tokens * product_params(m, kind);
    if (kind != KIND_M)
        return flops + attention_flops(m, kind, tokens);
    if (!model_is_hybrid(m))
        return flops + attention_flops(m, model_mtp_kind(m), tokens);
    for (const char *s = m->mtp_symbols; s && *s; s++)
        flops += attention_flops(m, kind_of_symbol(*s), tokens);
    return flops;
}

/* Lean layers alone are of their own kind. */
enum unit_kind model_base_kind(const struct model *m)
{
    enum unit_kind best = model_layer_kind(m, m->n_layers - 1);
    if (!model_is_hybrid(m) && model_unit_count(m, KIND_T))
        return KIND_T;
    if (!model_is_hybrid(m) && model_unit_count(m, KIND_T_DENSE))
        return KIND_T_DENSE;
    for (int k = 0; k < N_KINDS; k++)
        if (kind_is_layer((enum unit_kind)k) &&
            model_unit_count(m, (enum unit_kind)k) &&
            model_unit_fwd_flops(m, (enum unit_kind)k) >
                model_unit_fwd_flops(m, best))
            best = (enum unit_kind)k;
    return best;
}

/* ---- fingerprint ---- */

struct fact_list {
    struct model_fact *fact;
    int n;
};

static void facts_add(struct fact_list *f, const struct model_fact *more, int n)
{
    for (int i = 0; i < n; i++)
        f->fact[f->n++] = more[i];
}

/* What of a layer is computed twice changes its backward pass, precision
 * changes both. */
static void facts_of_setting(const struct model *m, struct fact_list *f)
{
    const struct memory_options *o = &m->memory;
    bool full = o->full_recompute != RECOMPUTE_NONE;
    const struct model_fact setting[] = {
        {"expert_tensor_parallel_size", m->n_experts ? m->par.etp : 0},
        {"recompute_full", full},
        {"recompute_block", o->full_recompute == RECOMPUTE_BLOCK},
        {"recompute_num_layers", full ? o->recompute_layers : 0},
#define FACT_OF_MODULE(name, id)                                               \
    {"recompute_" name, ((o->recompute) >> (id)) & 1U},
        RECOMPUTE_TABLE(FACT_OF_MODULE)
#undef FACT_OF_MODULE
            {"param_bytes", o->param_bytes},
        {"grad_bytes", o->grad_bytes},
        {"fp8", o->fp8},
    };
    facts_add(f, setting, sizeof setting / sizeof setting[0]);
}

static void facts_of_symbols(const struct model *m, struct fact_list *f)
{
    static const struct {
        const char *key;
        enum unit_kind kind;
    } counts[] = {
        {"mamba_layers", KIND_MAMBA},         {"delta_layers", KIND_DELTA},
        {"attention_layers", KIND_ATTENTION}, {"latent_layers", KIND_LATENT},
        {"sparse_layers", KIND_SPARSE},       {"mlp_layers", KIND_MLP},
        {"experts_layers", KIND_EXPERTS}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const struct model_fact fact = {counts[i].key,
                                        model_unit_count(m, counts[i].kind)};
        facts_add(f, &fact, 1);
    }
}

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
        {"moe_layers", m->n_experts ? model_unit_count(m, KIND_T) +
                                          model_unit_count(m, KIND_T_LEAN) +
                                          model_unit_count(m, KIND_EXPERTS)
                                    : 0},
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
        {"attention_output_gate", m->attn_gate},
        {"linear_num_value_heads", m->linear.v_heads},
        {"dsa_indexer_n_heads", m->indexer.heads},
    };
    // Megatron states a latent width also where it has no effect
    const struct model_fact latents[] = {{"q_lora_rank", m->q_lora},
                                         {"kv_lora_rank", m->kv_lora}};
    struct fact_list f = {facts, 0};
    facts_add(&f, all, sizeof all / sizeof all[0]);
    facts_of_setting(m, &f);
    if (m->mla)
        facts_add(&f, latents, sizeof latents / sizeof latents[0]);
    if (model_is_hybrid(m))
        facts_of_symbols(m, &f);
    return f.n;
}
