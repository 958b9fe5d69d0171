/* FLOPs of hybrid models against Megatron's own count (hybrid_flops() of
 * megatron/training/training.py, August 2026), restated here by layer. What it
 * leaves out is added by hand: routers, Mamba's convolution, the projection of
 * MTP; and it takes Mamba's width for twice the hidden size, whatever the heads
 * are, so that the models here have that. */
#include "model/model.h"

#include <criterion/criterion.h>

#include <string.h>

/* Of one layer, by symbol, for T tokens in sequences of S. */
static double layer(const struct model *m, char symbol, double T, double S)
{
    const double h = (double)m->hidden, up = m->gated ? 1.5 : 1;
    const double width = (double)(m->n_heads * m->head_dim) / h;
    const double groups = (double)m->n_kv_heads / (double)m->n_heads;
    const double inner = 2 * h, state = (double)m->mamba.state_dim;
    const double qk = (double)(m->linear.k_heads * m->linear.k_dim);
    const double v = (double)(m->linear.v_heads * m->linear.v_dim);
    const double routed = (double)(m->latent ? m->latent : m->hidden);
    switch (symbol) {
    case '*':
        return 4 * T * h * width * (h + h * groups) + 2 * T * S * h * width;
    case '-':
        return 4 * (double)m->ffn * up * T * h;
    case 'E':
        return 4 * T * routed * (double)(m->moe_ffn * m->topk) * up +
               (m->latent ? 4 * T * h * routed : 0) +
               4 * T * h * (double)m->shared_ffn * up;
    case 'M':
        return 2 * T * h *
                   (2 * inner + 2 * (double)m->mamba.n_groups * state +
                    (double)m->mamba.n_heads) +
               7 * T * inner * state + 2 * T * inner * h;
    default: // G
        return 2 * T *
               (h * (2 * qk + 2 * v + 2 * (double)m->linear.v_heads) +
                (double)m->linear.taps * (2 * qk + v) +
                (double)(m->linear.v_heads * m->linear.v_dim *
                         m->linear.v_dim) *
                    4 +
                h * v);
    }
}

/* What Megatron leaves out of it. */
static double left_out(const struct model *m, char symbol, double T)
{
    const struct mamba *x = &m->mamba;
    if (symbol == 'E')
        return 2 * T * (double)(m->hidden * m->n_experts);
    if (symbol == 'M')
        return 2 * T * 4 *
               (double)(2 * m->hidden + 2 * x->n_groups * x->state_dim);
    return 0;
}

static double megatron_flops(const struct model *m)
{
    const double T = (double)(m->batch.micro_batch * m->batch.seq_tokens);
    const double S = (double)m->batch.seq_tokens, h = (double)m->hidden;
    double sum = 2 * T * h * (double)m->padded_vocab * (1 + m->n_mtp);
    for (const char *s = m->symbols; *s; s++)
        sum += layer(m, *s, T, S) + left_out(m, *s, T);
    for (int i = 0; i < m->n_mtp; i++) {
        for (const char *s = m->mtp_symbols; *s; s++)
            sum += layer(m, *s, T, S) + left_out(m, *s, T);
        sum += 2 * T * 2 * h * h;
    }
    return sum;
}

static double our_flops(const struct model *m)
{
    double sum = 0;
    for (int k = 0; k < N_KINDS; k++)
        sum += model_unit_count(m, (enum unit_kind)k) *
               model_unit_fwd_flops(m, (enum unit_kind)k);
    return sum;
}

/* Nemotron-H-8B's widths: 128 heads of 64 are twice 4096. */
static struct model nemotron_h(void)
{
    return (struct model){.hidden = 4096,
                          .ffn = 21504,
                          .n_heads = 32,
                          .n_kv_heads = 8,
                          .head_dim = 128,
                          .vocab = 131072,
                          .padded_vocab = 131072,
                          .mamba = {128, 64, 8, 128},
                          .par = {1, 1, 1, 1, 1, 1, 1, 1},
                          .batch = {2, 2, 1, 8192}};
}

static void agrees(struct model m, const char *symbols, const char *mtp)
{
    m.symbols = symbols;
    m.n_layers = (int)strlen(symbols);
    m.mtp_symbols = mtp;
    m.n_mtp = mtp ? 2 : 0;
    cr_expect_float_eq(our_flops(&m) / megatron_flops(&m), 1, 1e-13, "%s: %g",
                       symbols, our_flops(&m) / megatron_flops(&m));
}

Test(hybrid_flops, are_those_that_megatron_counts)
{
    struct model m = nemotron_h();
    agrees(m, "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", NULL);
    m.gated = true;
    agrees(m, "*-*-", NULL);
    m.n_experts = 64;
    m.topk = 6;
    m.moe_ffn = 1856;
    m.shared_ffn = 3712;
    agrees(m, "MEMEM*E", "*E");
    m.latent = 1024;
    agrees(m, "MEM*E-", "*E");
    m.linear = (struct linear_attention){16, 32, 128, 128, 4, false};
    agrees(m, "GEGEGE*E", "GE");
}
