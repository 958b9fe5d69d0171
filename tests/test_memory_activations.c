#include "memory/activations.h"
#include "small_model.h"

#include <criterion/criterion.h>

/* The layer of Korthikanti et al. 2022: GeLU, width 4h, dropout everywhere,
 * scores stored. */
static struct model paper_model(void)
{
    struct model m = small_model();
    m.n_experts = 0;
    m.gated = false;
    m.learned_positions = true;
    m.n_kv_heads = m.n_heads;
    m.ffn = 4 * m.hidden;
    m.n_mtp = 0;
    m.memory.unfused_attention = true;
    m.memory.attention_dropout = m.memory.hidden_dropout = true;
    return m;
}

static int64_t tokens(const struct model *m)
{
    return m->batch.micro_batch * m->batch.seq_tokens;
}

Test(memory_activations, a_layer_is_that_of_the_paper)
{
    struct model m = paper_model();
    m.batch.micro_batch = 3;
    int64_t sbh = tokens(&m) * m.hidden;
    int64_t scores =
        5 * m.n_heads * m.batch.seq_tokens * m.batch.seq_tokens * 3;
    cr_assert_eq(memory_unit_activations(&m, KIND_T), 34 * sbh + scores,
                 "equation 1");
    m.par.tp = 2;
    m.memory.sequence_parallel = true;
    cr_assert_eq(memory_unit_activations(&m, KIND_T), 17 * sbh + scores / 2,
                 "equation 4");
    m.memory.sequence_parallel = false;
    cr_assert_eq(memory_unit_activations(&m, KIND_T),
                 10 * sbh + 12 * sbh + scores / 2, "equation 2");
    m.memory.sequence_parallel = true;
    m.memory.recompute = 1U << RECOMPUTE_CORE_ATTN;
    cr_assert_eq(memory_unit_activations(&m, KIND_T), 17 * sbh, "equation 6");
    m.memory.full_recompute = RECOMPUTE_UNIFORM;
    cr_assert_eq(memory_unit_activations(&m, KIND_T), sbh,
                 "2sbh over the ranks: the input alone");
}

Test(memory_activations, routed_rows_grow_with_topk_and_expert_tensor_ranks)
{
    struct model m = small_model();
    int64_t before = memory_unit_activations(&m, KIND_T);
    int64_t rows = tokens(&m) * m.topk;
    m.topk *= 2;
    int64_t more = memory_unit_activations(&m, KIND_T) - before;
    cr_assert_eq(more, rows * (2 * m.hidden + 2 * 3 * m.moe_ffn));
    m.topk /= 2;
    m.par.tp = m.par.etp = 2;
    m.memory.sequence_parallel = true;
    struct model dense = m;
    dense.topk = 0;
    int64_t experts = memory_unit_activations(&m, KIND_T) -
                      memory_unit_activations(&dense, KIND_T);
    cr_assert_eq(experts, rows * (2 * m.hidden + 2 * 3 * m.moe_ffn / 2),
                 "half the tokens, twice the rows, half the width");
}

Test(memory_activations, recomputed_modules_are_left_out)
{
    struct model m = small_model();
    int64_t all = memory_unit_activations(&m, KIND_T);
    int64_t rows = tokens(&m) * m.topk;
    m.memory.recompute = 1U << RECOMPUTE_MOE_ACT;
    cr_assert_eq(all - memory_unit_activations(&m, KIND_T),
                 2 * rows * m.moe_ffn);
    m.memory.recompute = 1U << RECOMPUTE_LAYERNORM;
    cr_assert_eq(all - memory_unit_activations(&m, KIND_T),
                 2 * memory_hidden_bytes(&m));
    m.memory.recompute = 1U << RECOMPUTE_MOE;
    cr_assert_eq(all - memory_unit_activations(&m, KIND_T),
                 rows * (2 * m.hidden + 6 * m.moe_ffn));
    cr_assert_eq(memory_unit_activations_plain(&m, KIND_T), all);
}

Test(memory_activations, fp8_keeps_inputs_of_linear_layers_in_one_byte)
{
    struct model m = paper_model();
    int64_t sbh = tokens(&m) * m.hidden;
    int64_t bf16 = memory_unit_activations(&m, KIND_T);
    m.memory.fp8 = true;
    // two norm outputs, the attention's output, the activation of width 4h
    cr_assert_eq(bf16 - memory_unit_activations(&m, KIND_T), 7 * sbh);
}

Test(memory_activations, the_head_makes_one_pass_for_the_model_and_each_mtp)
{
    struct model m = small_model();
    int64_t logits = tokens(&m) * m.padded_vocab;
    m.n_mtp = 0;
    cr_assert_eq(memory_head_bytes(&m), 6 * logits);
    m.memory.loss_fusion = true;
    cr_assert_eq(memory_head_bytes(&m), 10 * logits);
    m.memory.loss_fusion = false;
    m.memory.te_loss = true;
    cr_assert_eq(memory_head_bytes(&m), 6 * logits, "Transformer Engine's");
    m.memory.te_loss = false;
    m.memory.loss_fusion = true;
    m.n_mtp = 2;
    cr_assert_eq(memory_head_bytes(&m), (10 + 2 * 4 + 2) * logits,
                 "each depth leaves its softmax, the last its logits");
    m.memory.mtp_logits_freed = true;
    cr_assert_eq(memory_head_bytes(&m), (10 + 2 * 4) * logits);
    m.par.cp = 2;
    m.par.tp = 4;
    cr_assert_eq(memory_head_bytes(&m), 18 * logits / 8);
}

Test(memory_activations, deferred_gradients_are_bf16_logits_up_to_the_limit)
{
    struct model m = small_model();
    int64_t logits = tokens(&m) * m.padded_vocab;
    cr_assert_eq(memory_deferred_bytes(&m), 0);
    m.memory.loss_deferral = 2;
    cr_assert_eq(memory_deferred_bytes(&m), 4 * logits);
    m.memory.loss_deferral = 1000;
    cr_assert_eq(memory_deferred_bytes(&m), 12 * logits, "6 micro-batches");
}

Test(memory_activations, fp32_doubles_what_is_kept_and_not_the_loss)
{
    struct model m = small_model();
    int64_t layer = memory_unit_activations(&m, KIND_T);
    int64_t logits = tokens(&m) * m.padded_vocab;
    m.n_mtp = 0;
    m.memory.grad_fusion = true;
    m.memory.fp32 = true;
    cr_assert_eq(memory_unit_activations(&m, KIND_T), 2 * layer);
    cr_assert_eq(memory_head_bytes(&m), 4 * logits, "in place");
    m.memory.loss_fusion = true;
    cr_assert_eq(memory_head_bytes(&m), 8 * logits);
}

/* 512 tokens' vocabulary by 64 against 32 tokens of it. */
Test(memory_activations, the_output_layers_gradient_may_be_more_than_the_loss)
{
    struct model m = small_model();
    int64_t logits = tokens(&m) * m.padded_vocab;
    int64_t weight = m.padded_vocab * m.hidden;
    m.n_mtp = 0;
    m.batch.seq_tokens = 16;
    cr_assert_eq(memory_head_bytes(&m), 2 * (logits / 2 + weight));
    m.memory.grad_fusion = true;
    cr_assert_eq(memory_head_bytes(&m), 6 * logits / 2,
                 "the product adds to the buffer");
}

Test(memory_activations, scores_before_the_softmax_are_those_of_one_layer)
{
    struct model m = small_model();
    cr_assert_eq(memory_scores_bytes(&m), 0, "fused");
    m.memory.unfused_attention = true;
    m.batch.micro_batch = 3;
    cr_assert_eq(memory_scores_bytes(&m), 2 * 3 * 4 * 32 * 32);
    m.par.tp = m.par.cp = 2;
    cr_assert_eq(memory_scores_bytes(&m), 2 * 3 * 4 * 32 * 32 / 4);
}
