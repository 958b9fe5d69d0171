#include "megatron/args.h"
#include "megatron/overrides.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 64 };

struct fixture {
    struct arena arena;
    struct megatron_args *args;
    struct model model;
    struct err_msg msg;
    int n_warnings;
    char warning[256];
};

static void on_warning(void *data, const char *line)
{
    struct fixture *f = data;
    f->n_warnings++;
    snprintf(f->warning, sizeof f->warning, "%s", line);
}

/* Reads the words of one line. */
static enum err take_line(struct fixture *f, const char *line, bool strict)
{
    char *words[MAX_WORDS];
    int n = 0;
    arena_init(&f->arena);
    f->args = megatron_args_new(&f->arena);
    char *rest = arena_strdup(&f->arena, line);
    for (char *w; (w = strtok_r(rest, " ", &rest));)
        words[n++] = w;
    const struct megatron_args_options opt = {strict, on_warning, f, NULL};
    enum err e = megatron_args_read(f->args, words, n, &opt, &f->msg);
    return e == ERR_OK
               ? megatron_args_model(&f->arena, f->args, &f->model, &f->msg)
               : e;
}

#define SMALL                                                                  \
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size "    \
    "100 "

Test(megatron_args, defaults_are_megatrons)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--seq-length 32", true), ERR_OK, "%s",
                 f.msg.text);
    cr_assert_eq(f.model.ffn, 256);
    cr_assert_eq(f.model.head_dim, 16);
    cr_assert_eq(f.model.n_kv_heads, 4);
    cr_assert_eq(f.model.padded_vocab, 128);
    cr_assert(f.model.tied && f.model.layernorm && f.model.linear_bias);
    cr_assert(f.model.learned_positions);
    cr_assert_eq(f.model.n_experts, 0);
    cr_assert_eq(f.model.batch.n_microbatches, 1);
    arena_clear(&f.arena);
}

Test(megatron_args, recipe_flags_give_the_recipe)
{
    struct fixture f = {0};
    cr_assert_eq(
        take_line(
            &f,
            "--num-layers 16 --hidden-size 2048 --num-attention-heads 16 "
            "--group-query-attention --num-query-groups 2 --kv-channels "
            "128 --ffn-hidden-size 1024 --num-experts=64 --moe-router-topk "
            "8 --moe-ffn-hidden-size 1024 --swiglu --disable-bias-linear "
            "--normalization RMSNorm --position-embedding-type rope "
            "--vocab-size 128255 --tokenizer-type NullTokenizer "
            "--mtp-num-layers 1 --pipeline-model-parallel-size 4 "
            "--expert-model-parallel-size 2 --world-size 8 "
            "--micro-batch-size 2 --global-batch-size 128 --seq-length 64 "
            "--moe-router-load-balancing-type aux_loss --bf16",
            true),
        ERR_OK, "%s", f.msg.text);
    cr_assert_eq(model_total_params(&f.model), 6858278912);
    cr_assert_eq(f.model.par.dp, 2);
    cr_assert_eq(f.model.batch.n_microbatches, 32);
    arena_clear(&f.arena);
}

Test(megatron_args, swiglu_default_width_is_eight_thirds)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--swiglu", true), ERR_OK);
    cr_assert_eq(f.model.ffn, 64 * 4 * 2 / 3 / 64 * 64);
    arena_clear(&f.arena);
}

Test(megatron_args, unknown_flags_warn_once_or_fail)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--num-expert 8 --swiglu", false), ERR_OK);
    cr_assert_eq(f.n_warnings, 1);
    cr_assert(strstr(f.warning, "did you mean '--num-experts'"), "%s",
              f.warning);
    cr_assert(f.model.gated, "flags after the unknown one still count");
    arena_clear(&f.arena);
    cr_assert_eq(take_line(&f, SMALL "--num-expert 8", true), ERR_PARSE);
    arena_clear(&f.arena);
}

/* flags, and a word that the one line of the error must hold */
static const struct {
    const char *flags, *word;
} bad[] = {
    {"--num-layers 4", "hidden-size"},
    {SMALL "--num-layers four", "'four'"},
    {SMALL "--num-layers", "value missing"},
    {SMALL "--num-layers --swiglu", "value missing"},
    {SMALL "--swiglu=1", "takes no value"},
    {SMALL "--num-layers 0", "want 1 to"},
    {SMALL "--num-attention-heads 5", "multiple"},
    {SMALL "--group-query-attention --num-query-groups 3", "divisor"},
    {SMALL "--num-experts 4 --moe-router-topk 8", "topk"},
    {SMALL "--num-experts 4 --moe-layer-freq [1]*3", "3 entries"},
    {SMALL "--pipeline-model-parallel-size 4 --world-size 6", "world"},
    {SMALL "--micro-batch-size 2 --global-batch-size 3", "global-batch"},
    {SMALL "--tensor-model-parallel-size 3", "not a multiple of"},
    {SMALL "--num-experts 4 --expert-model-parallel-size 3", "--num-experts 4"},
    {SMALL "--expert-model-parallel-size 2", "no experts"},
    {SMALL "--seq-length 10 --context-parallel-size 4", "--seq-length 10"},
    {SMALL "extra", "'extra'"},
};

Test(megatron_args, bad_values_say_what_is_wanted)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fixture f = {0};
        enum err e = take_line(&f, bad[i].flags, true);
        cr_assert_eq(err_exit_code(e), 2, "%s", bad[i].flags);
        cr_assert(strstr(f.msg.text, bad[i].word), "%s: '%s' lacks '%s'",
                  bad[i].flags, f.msg.text, bad[i].word);
        arena_clear(&f.arena);
    }
}

static enum err read_json(struct fixture *f, const char *text)
{
    char path[] = "/tmp/moe-model-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    arena_init(&f->arena);
    f->args = megatron_args_new(&f->arena);
    enum err e = megatron_args_read_file(&f->arena, f->args, path, &f->msg);
    unlink(path);
    return e == ERR_OK
               ? megatron_args_model(&f->arena, f->args, &f->model, &f->msg)
               : e;
}

#define HEAD                                                                   \
    "{\"format\": \"moe-layout/model/1\", \"num_layers\": 4, "                 \
    "\"hidden_size\": 64, \"num_attention_heads\": 4, \"vocab_size\": 100"

Test(megatron_args, model_files_use_the_same_names)
{
    struct fixture f = {0};
    cr_assert_eq(read_json(&f, HEAD ", \"swiglu\": true, \"num_experts\": 4, "
                                    "\"moe_layer_freq\": [0, 1, 1, 1], "
                                    "\"qk_layernorm\": false}"),
                 ERR_OK, "%s", f.msg.text);
    cr_assert_eq(model_unit_count(&f.model, KIND_T_DENSE), 1);
    cr_assert_not(f.model.qk_norm);
    const struct overrides o = {
        .size = {[OVERRIDE_PP] = 2, [OVERRIDE_GBS] = 8}};
    overrides_apply(&o, megatron_args_flags(f.args));
    cr_assert_eq(megatron_args_model(&f.arena, f.args, &f.model, &f.msg),
                 ERR_OK);
    cr_assert(f.model.par.pp == 2 && f.model.batch.n_microbatches == 8);
    arena_clear(&f.arena);
}

Test(megatron_args, bad_model_files_are_one_line)
{
    static const char *const texts[] = {
        HEAD ", \"hiden_size\": 1}",
        HEAD ", \"swiglu\": 3}",
        HEAD ", \"num_experts\": 2.5}",
        HEAD ", \"num_experts\": \"4\"}",
        HEAD,
        "[]",
        "{\"format\": \"other/1\"}",
        "{}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct fixture f = {0};
        cr_assert_eq(err_exit_code(read_json(&f, texts[i])), 2, "%s", texts[i]);
        cr_assert_null(strchr(f.msg.text, '\n'));
        arena_clear(&f.arena);
    }
}

/* ---- other spellings, flags of others ---- */

static bool account_holds(const struct account_list *list, const char *word)
{
    for (const struct account_line *l = list->first; l; l = l->next)
        if (strstr(l->text, word))
            return true;
    return false;
}

Test(megatron_args, underscores_are_dashes_and_switches_take_a_word)
{
    struct fixture f = {0};
    cr_assert_eq(
        take_line(&f,
                  "--num_layers 4 --hidden_size 64 --num_attention_heads 4 "
                  "--vocab_size 100 --swiglu true --qk_layernorm false "
                  "--add_bias_linear false --finetune true "
                  "--sequence_parallel=True --lr 1",
                  true),
        ERR_OK, "%s", f.msg.text);
    cr_expect(f.model.gated && !f.model.qk_norm && !f.model.linear_bias);
    cr_expect(flags_given(megatron_args_flags(f.args), FLAG_SEQUENCE_PARALLEL));
    cr_expect_eq(f.n_warnings, 0, "%s", f.warning);
    arena_clear(&f.arena);
}

Test(megatron_args, a_word_behind_megatrons_own_switch_is_warned_of)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f,
                           SMALL "--swiglu true --untie-embeddings-and-"
                                 "output-weights false --mock-data true",
                           true),
                 ERR_OK, "%s", f.msg.text);
    cr_expect(f.model.gated && f.model.tied);
    cr_expect_eq(f.n_warnings, 3);
    arena_clear(&f.arena);
}

Test(megatron_args, both_styles_at_once_are_a_slip)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--num_experts 8", true), ERR_OK);
    cr_expect_eq(f.model.n_experts, 8);
    cr_expect(strstr(f.warning, "--num_experts beside"), "%s", f.warning);
    arena_clear(&f.arena);
}

Test(megatron_args, no_and_disable_are_one)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--no-bias-linear", true), ERR_OK, "%s",
                 f.msg.text);
    cr_expect_not(f.model.linear_bias);
    arena_clear(&f.arena);
}

Test(megatron_args, other_names_are_read_with_what_they_mean)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--num-key-value-heads 2", false), ERR_OK);
    cr_expect_eq(f.model.n_kv_heads, 2);
    cr_expect(strstr(f.warning, "--num-query-groups"), "%s", f.warning);
    cr_expect_eq(megatron_args_account(f.args)->changes.n, 0);
    arena_clear(&f.arena);
}

/* flags, the change that they are, and what its reason holds */
static const struct {
    const char *flags, *change, *reason;
} changing[] = {
    {SMALL "--noop-layers 1,2", "--noop-layers", "--num-layers"},
    {SMALL "--n-shared-experts=1", "--n-shared-experts",
     "--moe-shared-expert-intermediate-size"},
    {SMALL "--embed-layernorm", "--embed-layernorm", "norm"},
    {SMALL "--enable-mhc-connections", "--enable-mhc-connections", "streams"},
    {SMALL "--spec a b", "--spec", "not counted"},
    {SMALL "--spec a gdp_stack_spec", "--spec", "not counted"},
    {SMALL "--fancy-expert-flag 3", "--fancy-expert-flag", "nobody"},
    {SMALL "--num-expert 3", "--num-expert", "--num-experts"},
    {SMALL "--num-exp 8", "--num-exp", "no abbreviations"},
    {SMALL "--lora-rank 8", "--lora-rank", "not counted"},
};

Test(megatron_args, what_changes_the_model_goes_to_the_account)
{
    for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++) {
        struct fixture f = {0};
        cr_assert_eq(take_line(&f, changing[i].flags, false), ERR_OK, "%s: %s",
                     changing[i].flags, f.msg.text);
        struct account *account = megatron_args_account(f.args);
        cr_expect_eq(account->changes.n, 1, "%s", changing[i].flags);
        cr_expect(account_holds(&account->changes, changing[i].change), "%s",
                  changing[i].flags);
        cr_expect(account_holds(&account->reasons, changing[i].reason), "%s",
                  changing[i].flags);
        cr_expect_eq(f.n_warnings, 1, "%s", changing[i].flags);
        arena_clear(&f.arena);
    }
}

Test(megatron_args, what_changes_nothing_does_not)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f,
                           SMALL "--n-shared-experts 0 --tuner-type full "
                                 "--log-timers-often --my-flag 3 4 --lr 1 "
                                 "--hybrid-attention-ratio 0.0",
                           false),
                 ERR_OK, "%s", f.msg.text);
    cr_expect_eq(megatron_args_account(f.args)->changes.n, 0);
    cr_expect_eq(f.n_warnings, 2);
    arena_clear(&f.arena);
}

Test(megatron_args, strict_readers_refuse_what_changes_the_model)
{
    struct fixture f = {0};
    cr_assert_eq(take_line(&f, SMALL "--noop-layers 1", true), ERR_PARSE);
    cr_expect(strstr(f.msg.text, "--noop-layers"), "%s", f.msg.text);
    arena_clear(&f.arena);
    cr_assert_eq(read_json(&f, HEAD ", \"n_shared_experts\": 1}"), ERR_PARSE);
    cr_expect(strstr(f.msg.text, "n_shared_experts"), "%s", f.msg.text);
    arena_clear(&f.arena);
    cr_assert_eq(read_json(&f, HEAD ", \"n_shared_experts\": 0}"), ERR_OK, "%s",
                 f.msg.text);
    arena_clear(&f.arena);
}

Test(megatron_args, places_and_unknown_values_of_words_are_kept)
{
    struct fixture f = {0};
    char *words[] = {"--num_layers",  "$N", "--swiglu", "true",
                     "--noop-layers", "$X"};
    const struct flag_unknown n = {"run.sh:2", "$N"};
    const struct args_origin at = {.from = "run.sh:3"};
    struct args_origin origin[] = {at, at, at, at, at, at};
    origin[1].unknown = origin[5].unknown = &n;
    arena_init(&f.arena);
    f.args = megatron_args_new(&f.arena);
    const struct megatron_args_options opt = {.origin = origin};
    cr_assert_eq(megatron_args_read(f.args, words, 6, &opt, &f.msg), ERR_OK);
    const struct megatron_flags *flags = megatron_args_flags(f.args);
    cr_expect(flags_unknown(flags, FLAG_NUM_LAYERS));
    cr_expect_str_eq(flags->slot[FLAG_SWIGLU].from, "run.sh:3");
    cr_expect_eq(megatron_args_account(f.args)->changes.n, 1,
                 "a value that is not known may change the model");
    arena_clear(&f.arena);
}

/* ---- keys of configurations ---- */

static enum err take_key(struct fixture *f, const char *key, const char *text)
{
    const struct args_key k = {.key = key, .text = text, .from = "c:1"};
    return megatron_args_key(f->args, &k, &f->msg);
}

Test(megatron_args, keys_of_config_classes_fill_slots)
{
    struct fixture f = {0};
    arena_init(&f.arena);
    f.args = megatron_args_new(&f.arena);
    const struct megatron_flags *flags = megatron_args_flags(f.args);
    cr_assert_eq(take_key(&f, "num_moe_experts", "8"), ERR_OK);
    cr_assert_eq(take_key(&f, "add_bias_linear", "False"), ERR_OK);
    cr_assert_eq(take_key(&f, "gradient_accumulation_fusion", "false"), ERR_OK);
    cr_assert_eq(take_key(&f, "virtual_pipeline_model_parallel_size", NULL),
                 ERR_OK);
    cr_assert_eq(take_key(&f, "mtp_num_layers", "null"), ERR_OK);
    cr_assert_eq(take_key(&f, "cpu_offloading_num_layers", "0"), ERR_OK);
    cr_assert_eq(take_key(&f, "clone_scatter_output_in_embedding", "true"),
                 ERR_OK);
    cr_expect_eq(flags_int(flags, FLAG_NUM_EXPERTS, 0), 8);
    cr_expect(flags_given(flags, FLAG_DISABLE_BIAS_LINEAR));
    cr_expect(flags_given(flags, FLAG_NO_GRAD_FUSION));
    cr_expect_not(flags_given(flags, FLAG_VPP));
    cr_expect_not(flags_given(flags, FLAG_MTP_NUM_LAYERS));
    cr_expect_not(flags_given(flags, FLAG_CPU_OFFLOAD_LAYERS));
    cr_expect_eq(megatron_args_account(f.args)->warnings.n, 0);
    cr_expect_eq(take_key(&f, "num_layers", "many"), ERR_PARSE);
    cr_expect(strstr(f.msg.text, "c:1"), "%s", f.msg.text);
    cr_expect_eq(take_key(&f, "swiglu", "3"), ERR_PARSE);
    arena_clear(&f.arena);
}
