#include "megatron/model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Reads flags and values of one line into their slots. */
static enum err model_of(struct arena *a, const char *line, struct model *m,
                         struct err_msg *msg)
{
    arena_init(a);
    struct megatron_flags f;
    flags_init(&f, a);
    char *rest = arena_strdup(a, line);
    for (char *w; (w = strtok_r(rest, " ", &rest));) {
        enum flag_id id = flag_by_name(w + 2, strlen(w + 2));
        cr_assert_neq(id, FLAG_NONE, "%s", w);
        const char *value = flag_type(id) == FLAG_TYPE_BOOL
                                ? "true"
                                : strtok_r(rest, " ", &rest);
        enum err e = flags_set(&f, id, value, msg);
        if (e != ERR_OK)
            return e;
    }
    return megatron_model(a, &f, m, msg);
}

#define SMALL                                                                  \
    "--num-layers 8 --hidden-size 64 --num-attention-heads 4 "                 \
    "--ffn-hidden-size 96 --vocab-size 128 --disable-bias-linear --swiglu "    \
    "--normalization RMSNorm --position-embedding-type rope "
#define MOE SMALL "--num-experts 8 --moe-ffn-hidden-size 32 "

#define DSA                                                                    \
    SMALL "--multi-latent-attention --kv-lora-rank 16 --qk-head-dim 8 "        \
          "--qk-pos-emb-head-dim 4 --v-head-dim 6 --dsa-indexer-n-heads 2 "    \
          "--experimental-attention-variant dsa --dsa-indexer-head-dim 8 "     \
          "--dsa-indexer-topk 4 "
#define GDN                                                                    \
    SMALL "--linear-num-key-heads 2 --linear-num-value-heads 4 "               \
          "--linear-key-head-dim 8 --linear-value-head-dim 16 "

/* flags, and parameters of one layer of the last kind, counted by hand from
 * the shapes of Megatron's modules */
static const struct {
    const char *flags;
    int64_t layer;
} layers[] = {
    // 4h^2 attention, 3 h f MLP, two norms
    {SMALL, 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64},
    {SMALL "--group-query-attention --num-query-groups 2",
     3 * 64 * 64 + 3 * 64 * 96 + 2 * 64},
    {SMALL "--qk-layernorm", 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64 + 2 * 16},
    {SMALL "--qk-norm-full-width", 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64 + 2 * 64},
    {SMALL "--add-qkv-bias", 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64 + 3 * 64},
    {SMALL "--softmax-type learnable", 4 * 64 * 64 + 3 * 64 * 96 + 2 * 64 + 4},
    // latents: q 64x24 + 24x4(8+4), kv 64x(16+4) + 16x4(8+6), out 4x6x64
    {SMALL "--multi-latent-attention --q-lora-rank 24 --kv-lora-rank 16 "
           "--qk-head-dim 8 --qk-pos-emb-head-dim 4 --v-head-dim 6",
     64 * 24 + 24 * 48 + 64 * 20 + 16 * 56 + 24 * 64 + 3 * 64 * 96 + 2 * 64},
    {SMALL "--multi-latent-attention --kv-lora-rank 16 --qk-head-dim 8 "
           "--qk-pos-emb-head-dim 4 --v-head-dim 6 --qk-layernorm",
     64 * 48 + 64 * 20 + 16 * 56 + 24 * 64 + 16 + 3 * 64 * 96 + 2 * 64},
    // a gate as wide as the queries, which their bias covers
    {SMALL "--attention-output-gate", 5 * 64 * 64 + 3 * 64 * 96 + 2 * 64},
    {SMALL "--attention-output-gate --add-qkv-bias",
     5 * 64 * 64 + 3 * 64 * 96 + 2 * 64 + 4 * 64},
    {SMALL "--attention-output-bias", 4 * 64 * 64 + 3 * 64 * 96 + 3 * 64},
    {SMALL "--post-layer-norms", 4 * 64 * 64 + 3 * 64 * 96 + 4 * 64},
    // sparse attention: latents as above, 24x(2x8) + 64x8 + 64x2 + 2x8
    {DSA "--q-lora-rank 24", 64 * 24 + 24 * 48 + 64 * 20 + 16 * 56 + 24 * 64 +
                                 3 * 64 * 96 + 2 * 64 + 24 * 16 + 64 * 8 +
                                 64 * 2 + 2 * 8},
    {DSA, 64 * 48 + 64 * 20 + 16 * 56 + 24 * 64 + 3 * 64 * 96 + 2 * 64 +
              64 * 16 + 64 * 8 + 64 * 2 + 2 * 8},
    // experts: 8 of 3 h f, router 8 h
    {MOE, 4 * 64 * 64 + 8 * 3 * 64 * 32 + 8 * 64 + 2 * 64},
    {MOE "--moe-shared-expert-intermediate-size 48 --moe-shared-expert-gate",
     4 * 64 * 64 + 8 * 3 * 64 * 32 + 8 * 64 + 2 * 64 + 3 * 64 * 48 + 64},
    {MOE "--moe-latent-size 16",
     4 * 64 * 64 + 8 * 3 * 16 * 32 + 8 * 64 + 2 * 64 + 2 * 64 * 16},
    {MOE "--moe-router-enable-expert-bias",
     4 * 64 * 64 + 8 * 3 * 64 * 32 + 8 * 64 + 2 * 64},
    {MOE "--moe-router-enable-expert-bias --count-expert-bias",
     4 * 64 * 64 + 8 * 3 * 64 * 32 + 8 * 64 + 2 * 64 + 8},
};

Test(megatron_model, layers_weigh_what_their_shapes_say)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_expect_eq(model_of(&a, layers[i].flags, &m, &msg), ERR_OK, "%s",
                     msg.text);
        cr_expect_eq(model_unit_params(&m, KIND_T), layers[i].layer, "%s: %lld",
                     layers[i].flags, (long long)model_unit_params(&m, KIND_T));
        arena_clear(&a);
    }
}

/* flags, and which of the eight layers are lean */
static const struct {
    const char *flags, *lean;
} variants[] = {
    {GDN "--experimental-attention-variant gated_delta_net "
         "--linear-attention-freq 4",
     "11101110"},
    {GDN "--experimental-attention-variant gdn --linear-attention-freq "
         "[1]*7+[0]",
     "11111110"},
    {GDN "--experimental-attention-variant gdn2 --linear-attention-freq 2",
     "10101010"},
    // without a variant the pattern has no effect, as in Megatron
    {GDN "--linear-attention-freq 4", NULL},
    {DSA, NULL},
    // layers 1 and 2 pick, and every third from there on
    {DSA "--dsa-indexer-topk-freq 3 --dsa-indexer-skip-topk-offset 2",
     "00110110"},
    {DSA "--dsa-indexer-topk-freq 4", "01110111"},
    {DSA "--dsa-indexer-layers [1,0]*4 --mtp-num-layers 1", "01010101"},
};

Test(megatron_model, variants_of_attention_are_told_layer_by_layer)
{
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        const char *want = variants[i].lean;
        cr_expect_eq(model_of(&a, variants[i].flags, &m, &msg), ERR_OK, "%s",
                     msg.text);
        cr_expect_eq(m.layer_lean != NULL, want != NULL, "%s",
                     variants[i].flags);
        for (int k = 0; k < 8 && m.layer_lean && want; k++)
            cr_expect_eq(m.layer_lean[k], want[k] - '0', "%s: layer %d",
                         variants[i].flags, k);
        cr_expect_eq(m.memory.refusal != NULL,
                     strstr(variants[i].flags, "-variant") != NULL,
                     "memory of such layers is not modelled");
        arena_clear(&a);
    }
}

/* Biases as Megatron has them: qkv, projection, every expert's two, router. */
Test(megatron_model, biases_reach_experts_and_router)
{
    struct arena a;
    struct model with, without;
    struct err_msg msg;
    static const char flags[] =
        "--num-layers 2 --hidden-size 64 --num-attention-heads 4 "
        "--vocab-size 128 --num-experts 8 --moe-ffn-hidden-size 32 --swiglu ";
    cr_assert_eq(model_of(&a, flags, &with, &msg), ERR_OK);
    int64_t biased = model_unit_params(&with, KIND_T);
    arena_clear(&a);
    char plain[256];
    snprintf(plain, sizeof plain, "%s --disable-bias-linear", flags);
    cr_assert_eq(model_of(&a, plain, &without, &msg), ERR_OK);
    cr_assert_eq(biased - model_unit_params(&without, KIND_T),
                 3 * 64 + 64 + 8 * (2 * 32 + 64) + 8);
    arena_clear(&a);
}

Test(megatron_model, a_repeated_mtp_layer_weighs_once)
{
    struct arena a;
    struct model m;
    struct err_msg msg;
    cr_assert_eq(model_of(&a, MOE "--mtp-num-layers 3", &m, &msg), ERR_OK);
    int64_t three = model_mtp_params(&m);
    double flops = model_unit_fwd_flops(&m, KIND_M);
    arena_clear(&a);
    cr_assert_eq(model_of(&a, MOE "--mtp-num-layers 3 --mtp-use-repeated-layer",
                          &m, &msg),
                 ERR_OK);
    cr_assert_eq(3 * model_mtp_params(&m), three);
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_M), flops, 0);
    arena_clear(&a);
}

/* flags, virtual stages a rank */
static const struct {
    const char *flags;
    int vpp, world, dp;
} splits[] = {
    {SMALL "--pipeline-model-parallel-size 2", 1, 2, 1},
    {SMALL "--pipeline-model-parallel-size 2 "
           "--num-virtual-stages-per-pipeline-rank 4",
     4, 2, 1},
    {SMALL "--pipeline-model-parallel-size 2 "
           "--num-layers-per-virtual-pipeline-stage 2",
     2, 2, 1},
    {SMALL "--pipeline-model-parallel-size 2 "
           "--pipeline-model-parallel-layout E|ttt|ttt|ttL",
     2, 2, 1},
    {SMALL "--tensor-model-parallel-size 2 --context-parallel-size 2 "
           "--pipeline-model-parallel-size 2",
     1, 8, 1},
    {MOE "--pipeline-model-parallel-size 2 --expert-model-parallel-size 4", 1,
     8, 4},
    {MOE "--tensor-model-parallel-size 4 --expert-model-parallel-size 4 "
         "--expert-tensor-parallel-size 1",
     1, 4, 1},
    {MOE "--world-size 16 --expert-model-parallel-size 4", 1, 16, 16},
    {SMALL "--model-parallel-size 2", 1, 2, 1},
};

Test(megatron_model, ranks_and_virtual_stages_follow_from_flags)
{
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_expect_eq(model_of(&a, splits[i].flags, &m, &msg), ERR_OK, "%s",
                     msg.text);
        cr_expect_eq(m.par.vpp, splits[i].vpp, "%s", splits[i].flags);
        cr_expect_eq(m.par.world, splits[i].world, "%s", splits[i].flags);
        cr_expect_eq(m.par.dp, splits[i].dp, "%s", splits[i].flags);
        arena_clear(&a);
    }
}

/* flags that leave a model this program does not size, or none at all */
static const struct {
    const char *flags, *word;
} bad[] = {
    {SMALL "--hybrid-layer-pattern M*X", "'X' as letter 3"},
    {SMALL "--is-hybrid-model", "--hybrid-layer-pattern"},
    {SMALL "--world-size 3 --tensor-model-parallel-size 2", "--world-size"},
    {SMALL "--expert-model-parallel-size 3 --world-size 4", "EP x ETP x PP"},
    {"--num-layers 8 --hidden-size 64 --num-attention-heads 4",
     "--padded-vocab-size"},
    {"--num-layers 4096 --hidden-size 1048576 --num-attention-heads 65536 "
     "--kv-channels 65536 --vocab-size 100",
     "1e17"},
    {MOE "--moe-latent-size 0", "--moe-latent-size"},
    {SMALL "--experimental-attention-variant mamba", "want gdn"},
    {SMALL "--experimental-attention-variant gdn", "--linear-attention-freq"},
    {GDN "--experimental-attention-variant gdn --linear-attention-freq 2 "
         "--linear-num-value-heads 3",
     "--linear-num-key-heads 2"},
    {GDN "--experimental-attention-variant gdn --linear-attention-freq [1]*7",
     "7 entries"},
    {GDN "--experimental-attention-variant gdn --linear-attention-freq 2 "
         "--tensor-model-parallel-size 4",
     "--linear-num-key-heads"},
    {SMALL "--experimental-attention-variant dsa", "--multi-latent-attention"},
    {SMALL "--multi-latent-attention --attention-output-gate",
     "--attention-output-gate"},
    {DSA "--dsa-indexer-topk-freq 3 --mtp-num-layers 2", "--mtp-num-layers"},
};

Test(megatron_model, what_does_not_fit_is_named)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_expect_eq(err_exit_code(model_of(&a, bad[i].flags, &m, &msg)), 2,
                     "%s", bad[i].flags);
        cr_expect(strstr(msg.text, bad[i].word), "'%s' lacks '%s'", msg.text,
                  bad[i].word);
        arena_clear(&a);
    }
}

/* Windows of 16 of 64 tokens, by the flags; the layers that attend to all */
static const struct {
    const char *flags;
    int n_full;
} windows[] = {
    {SMALL "--seq-length 64 --window-size 16,0", 0},
    {SMALL "--seq-length 64 --window-size 16,0 --window-attn-skip-freq 4", 2},
    {SMALL "--seq-length 64 --window-size 16,0 "
           "--window-attn-skip-freq [1,0,0,0]*2",
     6},
    {SMALL "--seq-length 64 --window-attn-skip-freq [1]*8", 8},
};

/* A windowed query meets w (1 - w / 2s) = 14 keys on the average, any other
 * s / 2 = 32: the mean layer lies between by the share of each. */
Test(megatron_model, a_list_of_windows_decides_keys_as_a_number_does)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(model_of(&a, SMALL "--seq-length 64", &m, &msg), ERR_OK);
    double full = model_unit_fwd_flops(&m, KIND_T);
    double key = 4.0 * 64 * (double)(m.n_heads * m.head_dim); // of one more
    arena_clear(&a);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        cr_assert_eq(model_of(&a, windows[i].flags, &m, &msg), ERR_OK, "%s",
                     msg.text);
        double fewer = (32 - 14) * (8 - windows[i].n_full) / 8.0;
        cr_expect_float_eq(model_unit_fwd_flops(&m, KIND_T), full - key * fewer,
                           1e-9 * full, "%s", windows[i].flags);
        arena_clear(&a);
    }
}

/* Dense and expert layers are kinds of their own, with windows of their own. */
Test(megatron_model, windows_are_counted_by_kind)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    static const char flags[] =
        MOE "--seq-length 64 --moe-layer-freq [0]*4+[1]*4 ";
    char line[1024];
    snprintf(line, sizeof line, "%s --window-size 16,0 %s", flags,
             "--window-attn-skip-freq [1]*4+[0]*4");
    cr_assert_eq(model_of(&a, flags, &m, &msg), ERR_OK, "%s", msg.text);
    double dense = model_unit_fwd_flops(&m, KIND_T_DENSE);
    double moe = model_unit_fwd_flops(&m, KIND_T);
    double key = 4.0 * 64 * (double)(m.n_heads * m.head_dim);
    arena_clear(&a);
    cr_assert_eq(model_of(&a, line, &m, &msg), ERR_OK, "%s", msg.text);
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_T_DENSE), dense - 18 * key,
                       1e-9 * dense);
    cr_assert_float_eq(model_unit_fwd_flops(&m, KIND_T), moe, 1e-9 * moe);
    arena_clear(&a);
}

Test(megatron_model, a_list_of_windows_must_fit_the_layers)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(model_of(&a,
                          SMALL "--window-size 16,0 --window-attn-skip-freq "
                                "[1]*7",
                          &m, &msg),
                 ERR_RANGE);
    cr_assert(strstr(msg.text, "--window-attn-skip-freq") &&
                  strstr(msg.text, "7 entries"),
              "%s", msg.text);
    arena_clear(&a);
}
