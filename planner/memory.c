#include "memory.h"

int64_t memory_stage_params(const struct model *m, const struct layout *l,
                            int stage)
{
    int counts[N_KINDS];
    layout_stage_kinds(l, m, stage, counts);
    int64_t n = 0;
    for (int k = 0; k < N_KINDS; k++)
        n +=
            counts[k] ? counts[k] * model_unit_params(m, (enum unit_kind)k) : 0;
    bool tied_head = counts[KIND_L] && m->tied;
    if (!counts[KIND_E] && (tied_head || counts[KIND_M]))
        n += m->padded_vocab * m->hidden;
    return n;
}

/* Values a layer keeps for its backward pass, per token: residual and two
 * norm outputs; q, k, v, their rotated forms and the attention's output; for
 * each of the topk rows the dispatched input, both projections, the activation
 * and the output (domain: "Activations a layer"). */
static int64_t layer_values(const struct model *m, enum unit_kind kind)
{
    int64_t q = m->n_heads * m->head_dim, kv = m->n_kv_heads * m->head_dim;
    int64_t n = 3 * m->hidden + 3 * q + 3 * kv;
    bool experts = m->n_experts && kind == KIND_T;
    int64_t width = experts ? m->moe_ffn : m->ffn;
    int64_t rows = experts ? m->topk : 1;
    int64_t k = m->gated ? 2 : 1;
    return n + rows * (2 * m->hidden + (k + 1) * width);
}

static int64_t stage_values(const struct model *m, const int counts[N_KINDS])
{
    enum unit_kind last = model_layer_kind(m, m->n_layers - 1);
    return counts[KIND_E] * m->hidden +
           counts[KIND_T] * layer_values(m, KIND_T) +
           counts[KIND_T_DENSE] * layer_values(m, KIND_T_DENSE) +
           counts[KIND_M] * (5 * m->hidden + layer_values(m, last));
}

void memory_stage(const struct model *m, const struct layout *l, int stage,
                  int in_flight, const struct memory_rules *rules,
                  struct memory_stage *out)
{
    int counts[N_KINDS];
    layout_stage_kinds(l, m, stage, counts);
    int64_t tokens = m->batch.micro_batch * m->batch.seq_tokens / m->par.cp;
    int64_t params = memory_stage_params(m, l, stage);
    int64_t per_param =
        rules->param_bytes + rules->grad_bytes + rules->optimizer_bytes;
    *out = (struct memory_stage){.params = params,
                                 .static_bytes = params / m->par.tp * per_param,
                                 .activation_bytes = stage_values(m, counts) *
                                                     tokens / m->par.tp *
                                                     rules->value_bytes,
                                 .in_flight = in_flight};
    // fp32 logits and their gradient in the value type, a pass per MTP layer
    if (counts[KIND_L])
        out->head_bytes = (1 + m->n_mtp) * tokens *
                          (m->padded_vocab / m->par.tp) *
                          (4 + rules->value_bytes);
    out->peak_bytes = out->static_bytes + out->head_bytes +
                      out->in_flight * out->activation_bytes;
}
