#include "megatron/args.h"
#include "megatron/convert.h"
#include "megatron/overrides.h"

#include <criterion/criterion.h>
#include <string.h>

/* JSON, what it is, and its text */
static const struct {
    const char *json;
    enum flag_json is;
    const char *text;
} values[] = {
    {"null", FLAG_JSON_OFF, NULL},
    {"false", FLAG_JSON_OFF, NULL},
    {"true", FLAG_JSON_ON, NULL},
    {"\"rope\"", FLAG_JSON_WORD, "rope"},
    {"4096", FLAG_JSON_WORD, "4096"},
    {"-3", FLAG_JSON_WORD, "-3"},
    {"0.1", FLAG_JSON_WORD, "0.1"},
    {"1e-5", FLAG_JSON_WORD, "1e-05"},
    {"9007199254740991", FLAG_JSON_WORD, "9007199254740991"},
    {"0.30000000000000004", FLAG_JSON_WORD, "0.30000000000000004"},
    {"[1, 1, 0]", FLAG_JSON_WORD, "[1,1,0]"},
    {"[]", FLAG_JSON_WORD, "[]"},
    {"[\"moe\", \"mlp\"]", FLAG_JSON_WORDS, "moe mlp"},
    {"[\"moe\", 1]", FLAG_JSON_BAD, NULL},
    {"[[1]]", FLAG_JSON_BAD, NULL},
    {"{}", FLAG_JSON_BAD, NULL},
};

Test(convert, json_values_read_as_words)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct arena a;
        const char *text = "left over";
        arena_init(&a);
        cJSON *item = cJSON_Parse(values[i].json);
        cr_expect_eq(flag_from_json(&a, item, &text), values[i].is, "%s",
                     values[i].json);
        if (values[i].text)
            cr_expect_str_eq(text, values[i].text, "%s", values[i].json);
        else
            cr_expect_null(text, "%s", values[i].json);
        cJSON_Delete(item);
        arena_clear(&a);
    }
}

/* The argument vector of a model file's keys, joined by spaces with each word
 * in brackets where it holds one. */
static const char *argv_of(struct arena *a, const char *json,
                           const struct overrides *o)
{
    static const enum flag_id without[] = {FLAG_WORLD_SIZE, FLAG_NONE};
    struct err_msg msg = {""};
    struct flag_words words;
    arena_init(a);
    cJSON *tree = cJSON_Parse(json);
    struct megatron_args *args = megatron_args_new(a);
    cr_assert_eq(megatron_args_read_json(args, tree, "m", &msg), ERR_OK, "%s",
                 msg.text);
    cJSON_Delete(tree);
    if (o)
        overrides_apply(o, megatron_args_flags(args));
    cr_assert_eq(
        flags_to_argv(a, megatron_args_flags(args), without, &words, &msg),
        ERR_OK);
    const char *all = "";
    for (int i = 0; i < words.n; i++)
        all = arena_printf(a, strchr(words.word[i], ' ') ? "%s[%s] " : "%s%s ",
                           all, words.word[i]);
    return all;
}

Test(convert, argv_keeps_the_order_of_the_file)
{
    struct arena a;
    cr_assert_str_eq(
        argv_of(&a,
                "{\"swiglu\": true, \"num_layers\": 4, \"hidden_dropout\": "
                "0.1, \"moe_layer_freq\": [1, 0], \"untie_embeddings_and_"
                "output_weights\": false, \"num_experts\": null, "
                "\"world_size\": 8}",
                NULL),
        "--swiglu --num-layers 4 --hidden-dropout 0.1 --moe-layer-freq [1,0] ");
    arena_clear(&a);
}

Test(convert, flags_without_a_row_go_through)
{
    struct arena a;
    cr_assert_str_eq(
        argv_of(&a,
                "{\"rotary_base\": 500000, \"num_layers\": 4, \"finetune\": "
                "true, \"data_path\": [\"0.5\", \"a\"], \"seed\": null}",
                NULL),
        "--rotary-base 500000 --num-layers 4 --finetune --data-path 0.5 a ");
    arena_clear(&a);
}

Test(convert, words_are_arguments_each)
{
    struct arena a;
    cr_assert_str_eq(argv_of(&a, "{\"recompute_modules\": \"moe  mlp\"}", NULL),
                     "--recompute-modules moe mlp ");
    arena_clear(&a);
    cr_assert_str_eq(
        argv_of(&a, "{\"recompute_modules\": [\"moe\", \"mlp\"]}", NULL),
        "--recompute-modules moe mlp ");
    arena_clear(&a);
}

Test(convert, overrides_win_and_come_last)
{
    struct arena a;
    const struct overrides o = {
        .size = {[OVERRIDE_MBS] = 2, [OVERRIDE_TP] = 4, [OVERRIDE_PP] = 2}};
    cr_assert_str_eq(argv_of(&a,
                             "{\"micro_batch_size\": 1, \"num_layers\": 4, "
                             "\"pipeline_model_parallel_layout\": \"Et*4L\"}",
                             &o),
                     "--num-layers 4 --tensor-model-parallel-size 4 "
                     "--pipeline-model-parallel-size 2 --micro-batch-size 2 ");
    arena_clear(&a);
}

Test(convert, other_names_come_out_as_the_flag)
{
    struct arena a;
    cr_assert_str_eq(argv_of(&a,
                             "{\"num_layers_in_first_pipeline_stage\": 3, "
                             "\"num_moe_experts\": 8}",
                             NULL),
                     "--decoder-first-pipeline-num-layers 3 --num-experts 8 ");
    arena_clear(&a);
}
