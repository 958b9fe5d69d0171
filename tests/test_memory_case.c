#include "base/json.h"
#include "memory/case.h"

#include <criterion/criterion.h>
#include <string.h>

static const char base[] =
    "{\"--hidden-size\": 64, \"--num-attention-heads\": 4,"
    "\"--seq-length\": 32, \"--bf16\": true, \"--global-batch-size\": 32,"
    "\"--pipeline-model-parallel-size\": 2";

static enum err predict_text(struct arena *a, const char *text,
                             struct memory_case *out, struct err_msg *msg)
{
    cJSON *flags = NULL;
    cr_assert_eq(json_parse(text, "flags", &flags, msg), ERR_OK, "%s",
                 msg->text);
    struct memory_case_input in = {.flags = flags,
                                   .platform = "dev_dgx_h100",
                                   .world_size = 4,
                                   .padded_vocab_size = 512};
    enum err e = memory_case_predict(a, &in, out, msg);
    cJSON_Delete(flags);
    return e;
}

/* Flags are `base` with layers and `more` behind; the arena is the caller's. */
static enum err predict_layers(struct arena *a, int n_layers, const char *more,
                               struct memory_case *out, struct err_msg *msg)
{
    arena_init(a);
    return predict_text(
        a, arena_printf(a, "%s, \"--num-layers\": %d%s}", base, n_layers, more),
        out, msg);
}

static enum err predict(struct arena *a, const char *more,
                        struct memory_case *out, struct err_msg *msg)
{
    return predict_layers(a, 8, more, out, msg);
}

static const struct {
    int n_layers;
    const char *more, *layout;
} splits[] = {
    {8, "", "Et*4|t*4L"},
    {8, ", \"--num-layers-per-virtual-pipeline-stage\": 2",
     "Et*2|t*2|t*2|t*2L"},
    {7, ", \"--account-for-loss-in-pipeline-split\": true", "Et*4|t*3L"},
    {6,
     ", \"--account-for-loss-in-pipeline-split\": true, "
     "\"--account-for-embedding-in-pipeline-split\": true",
     "Et*3|t*3L"},
    {8, ", \"--decoder-first-pipeline-num-layers\": 3", "Et*3|t*5L"},
    {8, ", \"--pipeline-model-parallel-layout\": \"Et*5|t*3L\"", "Et*5|t*3L"},
};

Test(memory_case, splits_are_megatrons_own)
{
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        struct arena a;
        struct err_msg msg;
        struct memory_case c;
        cr_assert_eq(
            predict_layers(&a, splits[i].n_layers, splits[i].more, &c, &msg),
            ERR_OK, "%s", msg.text);
        cr_assert_null(c.refusal, "%s", c.refusal);
        cr_assert_str_eq(layout_string(&a, &c.layout), splits[i].layout);
        arena_clear(&a);
    }
}

Test(memory_case, layers_that_do_not_divide_are_refused_as_megatron_does)
{
    struct arena a;
    struct err_msg msg;
    struct memory_case c;
    cr_assert_eq(predict(&a, ", \"--account-for-loss-in-pipeline-split\": true",
                         &c, &msg),
                 ERR_OK);
    cr_assert_not_null(c.refusal);
    cr_assert_not_null(strstr(c.refusal, "refuses its default split"), "%s",
                       c.refusal);
    arena_clear(&a);
}

Test(memory_case, what_cannot_be_predicted_is_a_refusal_not_an_error)
{
    static const char *const rows[][2] = {
        {", \"--use-megatron-fsdp\": true", "FSDP over pipeline stages"},
        {", \"--fine-grained-activation-offloading\": true",
         "--offload-modules"},
        {", \"--mamba-num-groups\": 2, \"--hybrid-override-pattern\": \"M*M\"",
         "divide"},
        {", \"--hybrid-override-pattern\": \"M*X*\"", "'X' as letter 3"},
        {", \"--moe-paged-stash\": true", "--moe-paged-stash"},
        {", \"--lora-rank\": 8", "LoRA"},
    };
    for (int i = 0; i < 6; i++) {
        struct arena a;
        struct err_msg msg;
        struct memory_case c;
        cr_assert_eq(predict(&a, rows[i][0], &c, &msg), ERR_OK, "%s", msg.text);
        cr_assert_not_null(c.refusal);
        cr_assert_not_null(strstr(c.refusal, rows[i][1]), "%s", c.refusal);
        arena_clear(&a);
    }
}

Test(memory_case, flags_must_be_named_values)
{
    struct arena a;
    struct err_msg msg;
    struct memory_case c;
    cr_assert_eq(predict(&a, ", \"tp\": 2", &c, &msg), ERR_PARSE);
    cr_assert_not_null(strstr(msg.text, "tp"), "%s", msg.text);
    arena_clear(&a);
    cr_assert_eq(predict(&a, ", \"--swiglu\": [1]", &c, &msg), ERR_PARSE);
    arena_clear(&a);
}

Test(memory_case, distributed_state_needs_the_number_of_ranks)
{
    struct arena a;
    struct err_msg msg;
    struct memory_case c, shared;
    cr_assert_eq(predict(&a, "", &c, &msg), ERR_OK);
    int64_t whole = c.ranks[0].optimizer_bytes;
    arena_clear(&a);
    cr_assert_eq(
        predict(&a, ", \"--use-distributed-optimizer\": true", &shared, &msg),
        ERR_OK);
    cr_assert_null(shared.refusal);
    // two replicas share it, but for padding
    cr_assert_leq(shared.ranks[0].optimizer_bytes, whole / 2 + 4096);
    cr_assert_geq(shared.ranks[0].optimizer_bytes, whole / 2);
    arena_clear(&a);
}

/* Megatron trains in fp32 where neither --bf16 nor --fp16 is given: 4 bytes a
 * parameter, 4 a gradient, two moments. */
Test(memory_case, without_a_precision_all_is_fp32)
{
    struct arena a;
    struct err_msg msg;
    struct memory_case c;
    cr_assert_eq(predict(&a, "", &c, &msg), ERR_OK);
    struct memory_rank bf16 = c.ranks[0];
    cr_assert_eq(bf16.static_bytes, 18 * bf16.params);
    arena_clear(&a);
    arena_init(&a);
    cr_assert_eq(predict_text(&a,
                              "{\"--hidden-size\": 64, \"--num-layers\": 8,"
                              "\"--global-batch-size\": 32,"
                              "\"--num-attention-heads\": 4,"
                              "\"--pipeline-model-parallel-size\": 2,"
                              "\"--seq-length\": 32}",
                              &c, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_eq(c.ranks[0].params, bf16.params);
    cr_assert_eq(c.ranks[0].static_bytes, 16 * bf16.params);
    cr_assert_gt(c.ranks[0].activation_bytes, bf16.activation_bytes);
    arena_clear(&a);
}

Test(memory_case, hybrid_models_are_one_rank_of_their_pattern)
{
    struct arena a;
    struct err_msg msg;
    struct memory_case c;
    arena_init(&a);
    cr_assert_eq(predict_text(&a,
                              "{\"--hidden-size\": 64, \"--bf16\": true,"
                              "\"--num-attention-heads\": 4,"
                              "\"--hybrid-layer-pattern\": \"M*-M\","
                              "\"--mamba-num-groups\": 2,"
                              "\"--seq-length\": 32}",
                              &c, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_null(c.refusal, "%s", c.refusal);
    cr_assert(model_is_hybrid(&c.model));
    cr_assert_eq(c.layout.pp, 1);
    cr_assert_eq(model_unit_count(&c.model, KIND_MAMBA), 2);
    cr_assert_gt(c.ranks[0].peak_bytes, c.ranks[0].allocated_bytes);
    arena_clear(&a);
}

// flags of forks: as on a command line, nothing is predicted without them
Test(memory_case, refuses_flags_that_change_the_model)
{
    static const struct {
        const char *more, *reason;
    } bad[] = {
        {", \"--noop-layers\": \"3\"", "--noop-layers: "},
        {", \"--num-dense-heads\": 2", "--num-dense-heads: "},
        {", \"--lora-rank\": 16", "LoRA"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena a;
        struct memory_case c;
        struct err_msg msg = {""};
        cr_assert_eq(predict(&a, bad[i].more, &c, &msg), ERR_OK, "%s",
                     msg.text);
        cr_expect(c.refusal && strstr(c.refusal, bad[i].reason), "%s: got '%s'",
                  bad[i].more, c.refusal ? c.refusal : "");
        arena_clear(&a);
    }
}

Test(memory_case, warns_of_flags_that_change_no_memory)
{
    struct arena a;
    struct memory_case c;
    struct err_msg msg = {""};
    cr_assert_eq(predict(&a, ", \"--my-odd-word\": 3", &c, &msg), ERR_OK, "%s",
                 msg.text);
    cr_expect_null(c.refusal);
    cr_assert_eq(c.account->warnings.n, 1);
    cr_expect_str_eq(c.account->warnings.first->text,
                     "unknown flag '--my-odd-word'");
    arena_clear(&a);
    cr_assert_eq(predict(&a, ", \"--split\": \"99,1,0\"", &c, &msg), ERR_OK);
    cr_expect_null(c.refusal);
    cr_expect_eq(c.account->warnings.n, 0);
    arena_clear(&a);
}
