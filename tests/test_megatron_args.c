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
