/* Published models: totals equal the model's own parameter count exactly;
 * active ones are the published figure at its digits, by the convention that
 * its publisher counts in (sources: "comment" of experiments/models/NAME.json).
 */
#include "source/source.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

enum counted { ALL, NO_LOOKUP, NO_TABLES }; // vocabulary tables in the active
enum digits { ROUNDED, CUT };

static const struct {
    const char *name;
    int64_t total, mtp;
    double active_b, unit; // billions, and the worth of the last digit
    enum counted counted;
    enum digits digits;
} published[] = {
    {"deepseek-v3", 671026419200, 11610068224, 37, 1, NO_LOOKUP, ROUNDED},
    {"deepseek-v2-lite", 15706484224, 0, 2.4, 0.1, NO_LOOKUP, CUT},
    {"kimi-k2", 1026408232448, 0, 32, 1, NO_LOOKUP, ROUNDED},
    {"qwen3-30b-a3b", 30532122624, 0, 3.3, 0.1, ALL, CUT},
    {"qwen3-235b-a22b", 235093634560, 0, 22, 1, ALL, ROUNDED},
    {"mixtral-8x7b", 46702792704, 0, 12.9, 0.1, ALL, ROUNDED},
    {"mixtral-8x22b", 140620634112, 0, 39, 1, ALL, ROUNDED},
    {"olmoe-1b-7b", 6919161856, 0, 1.3, 0.1, ALL, ROUNDED},
    {"glm-4.5-air", 106852251264, 2375059584, 12, 1, NO_TABLES, ROUNDED},
    {"glm-4.5", 352797829024, 3988069792, 32, 1, NO_TABLES, ROUNDED},
    {"gpt-oss-20b", 20914757184, 0, 3.61, 0.01, NO_LOOKUP, ROUNDED},
    {"gpt-oss-120b", 116829156672, 0, 5.13, 0.01, NO_LOOKUP, ROUNDED},
    {"llama-3-8b", 8030261248, 0, 8.03, 0.01, ALL, ROUNDED},
    {"llama-3-70b", 70553706496, 0, 70.6, 0.1, ALL, ROUNDED},
    {"llama-3.1-405b", 405853388800, 0, 405, 1, ALL, CUT},
};
enum { N_PUBLISHED = sizeof published / sizeof published[0] };

static void read_model(struct arena *a, const char *path, struct model *m)
{
    struct err_msg msg = {""};
    arena_init(a);
    struct megatron_args *args = megatron_args_new(a);
    enum err e = model_source_read(a, &(struct source_request){.path = path},
                                   args, &msg);
    if (e == ERR_OK)
        e = megatron_args_model(a, args, m, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
}

static void check_published(const char *path, int i)
{
    struct arena a;
    struct model m;
    read_model(&a, path, &m);
    cr_expect_eq(model_total_params(&m), published[i].total, "%s: %lld", path,
                 (long long)model_total_params(&m));
    cr_expect_eq(model_mtp_params(&m), published[i].mtp, "%s: MTP %lld", path,
                 (long long)model_mtp_params(&m));
    int64_t active = published[i].counted == ALL
                         ? model_active_params(&m)
                         : model_active_params_no_lookup(&m);
    if (published[i].counted == NO_TABLES)
        active -= m.padded_vocab * m.hidden;
    double b = (double)active * 1e-9, digit = published[i].unit;
    double lo =
        published[i].active_b - (published[i].digits == CUT ? 0 : digit / 2);
    cr_expect(b >= lo && b < lo + digit, "%s: %.4f B active, published %g",
              path, b, published[i].active_b);
    arena_clear(&a);
}

Test(model_source, published_configs_give_their_own_counts)
{
    for (int i = 0; i < N_PUBLISHED; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/fixtures/models/hf-%s.json",
                 published[i].name);
        check_published(path, i);
    }
}

Test(model_source, model_files_give_the_same_counts)
{
    for (int i = 0; i < N_PUBLISHED; i++) {
        char path[128];
        snprintf(path, sizeof path, "experiments/models/%s.json",
                 published[i].name);
        check_published(path, i);
    }
}

/* GLM-4.5-Air's checkpoint holds the MTP block and copies of embedding and
 * head beside it; its safetensors metadata counts all of them. */
Test(model_source, glm_with_its_copies_is_the_whole_checkpoint)
{
    struct arena a;
    struct model m;
    read_model(&a, "tests/fixtures/models/hf-glm-4.5-air.json", &m);
    cr_assert_eq(model_total_params(&m) + model_mtp_params(&m) +
                     2 * m.padded_vocab * m.hidden,
                 110468824832);
    arena_clear(&a);
}

Test(model_source, dense_first_layers_and_windows_are_told_apart)
{
    struct arena a;
    struct model m;
    read_model(&a, "tests/fixtures/models/hf-deepseek-v3.json", &m);
    cr_assert_eq(model_unit_count(&m, KIND_T_DENSE), 3);
    cr_assert_eq(model_layer_kind(&m, 3), KIND_T);
    cr_assert(m.mla && m.q_lora == 1536 && m.qk_norm);
    arena_clear(&a);
    read_model(&a, "tests/fixtures/models/hf-gpt-oss-20b.json", &m);
    cr_assert(m.window == 128 && m.sinks);
    cr_assert(m.layer_window[0] && !m.layer_window[1] && m.layer_window[2]);
    arena_clear(&a);
}

static enum err read_text(const char *text, struct err_msg *msg)
{
    struct arena a;
    struct model m;
    arena_init(&a);
    char *copy = arena_strdup(&a, text);
    const struct text_span span = {copy, strlen(copy)};
    struct megatron_args *args = megatron_args_new(&a);
    enum err e = model_source_read_text(
        &a, &span, &(struct source_request){.path = "c.json"}, args, msg);
    if (e == ERR_OK)
        e = megatron_args_model(&a, args, &m, msg);
    arena_clear(&a);
    return e;
}

#define LLAMA                                                                  \
    "{\"model_type\": \"llama\", \"hidden_size\": 64, "                        \
    "\"intermediate_size\": 128, \"num_hidden_layers\": 2, "                   \
    "\"num_attention_heads\": 4, \"vocab_size\": 100"

/* text, and a word that the message must hold */
static const struct {
    const char *text, *word;
} bad[] = {
    {"{\"model_type\": \"bert\"}", "deepseek_v3"},
    {"{\"model_type\": 3}", "want one of"},
    {"{\"model_type\": \"llama\"}", "hidden_size"},
    {LLAMA ", \"mlp_bias\": true}", "mlp_bias"},
    {LLAMA ", \"num_key_value_heads\": 3}", "divisor"},
    {LLAMA ", \"num_key_value_heads\": \"3\"}", "num_key_value_heads"},
    {LLAMA, "c.json"},
    {"{\"num_layers\": 2}", "moe-layout/model/1"},
    {"# c\n\n#d\nimport os\nos.system('x --num-layers 2')\n", "Python"},
    {"from a.b import c\nc(num_layers=2)\n", "run_config.yaml"},
    {"\"\"\"What it is.\"\"\"\nx = 1\n", "Python"},
    {"#!/usr/bin/env python3\nx = 1\n", "Python"},
    {"#!/bin/sh\n# python\nimport x\n", "starts no command"},
};

Test(model_source, what_is_missing_or_unknown_is_named)
{
    struct err_msg msg = {""};
    cr_assert_eq(read_text(LLAMA "}", &msg), ERR_OK, "%s", msg.text);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        msg.text[0] = '\0';
        cr_expect_eq(err_exit_code(read_text(bad[i].text, &msg)), 2, "%s",
                     bad[i].text);
        cr_expect(strstr(msg.text, bad[i].word), "'%s' lacks '%s'", msg.text,
                  bad[i].word);
    }
}

Test(model_source, forms_are_told_apart_by_content)
{
    cr_assert_eq(model_source_form(" \n{\"model_type\": 1}"), SOURCE_MODEL);
    cr_assert_eq(model_source_form("\xef\xbb\xbf{}"), SOURCE_MODEL);
    cr_assert_eq(model_source_form("A: 1\nMODEL_ARGS:\n  --x: 1\n"),
                 SOURCE_YAML);
    cr_assert_eq(model_source_form("0: ------ arguments ------\n"), SOURCE_LOG);
    cr_assert_eq(model_source_form("#!/bin/sh\nMODEL_ARGS: 1\n"),
                 SOURCE_SCRIPT);
    cr_assert_eq(model_source_form("MODEL_ARGS=(--num-layers 2)\n"),
                 SOURCE_SCRIPT);
}

/* All six forms of the same recipe. */
Test(model_source, every_form_gives_the_same_model)
{
    static const char *const paths[] = {
        "experiments/models/7b-a1b.json", "tests/fixtures/scripts/launch.sh",
        "tests/fixtures/models/dump.log", "tests/fixtures/models/recipe.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct arena a;
        struct model m;
        read_model(&a, paths[i], &m);
        cr_expect_eq(model_total_params(&m), 6858278912, "%s", paths[i]);
        cr_expect_eq(model_active_params(&m), 1221134336, "%s", paths[i]);
        cr_expect_eq(m.n_mtp, 1, "%s", paths[i]);
        cr_expect_eq(m.padded_vocab, 128256, "%s", paths[i]);
        arena_clear(&a);
    }
}

/* 34 MB: the dump, then timers. What stands behind the dump counts in a log of
 * any size. */
Test(model_source, a_large_log_keeps_its_padded_vocabulary)
{
    enum { N_LINES = 34 << 15 };
    char path[] = "/tmp/moe-large-log-XXXXXX";
    struct text_span dump;
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    arena_init(&a);
    cr_assert_eq(text_read_file(&a, "tests/fixtures/models/dump.log", 1 << 20,
                                &dump, &msg),
                 ERR_OK);
    FILE *f = fdopen(mkstemp(path), "w");
    cr_assert_not_null(f);
    fwrite(dump.data, 1, dump.len, f);
    for (int i = 0; i < N_LINES; i++)
        fprintf(f, "     rank %3d: %15.2f\n", i % 1000,
                100.0 + i % 7); // 31 bytes
    cr_assert_eq(fclose(f), 0);
    struct megatron_args *args = megatron_args_new(&a);
    enum err e = model_source_read(&a, &(struct source_request){.path = path},
                                   args, &msg);
    unlink(path);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    e = megatron_args_model(&a, args, &m, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    cr_expect_eq(m.padded_vocab, 128256);
    arena_clear(&a);
}
