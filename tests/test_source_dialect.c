#include "source/dialect.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum err read_yaml(struct arena *a, const char *text, struct model *m,
                          struct err_msg *msg)
{
    arena_init(a);
    struct megatron_args *args = megatron_args_new(a);
    enum err e = dialect_read_yaml(
        a, &(struct dialect_file){.text = text, .where = "m.yaml"}, args, msg);
    return e == ERR_OK ? megatron_args_model(a, args, m, msg) : e;
}

#define MODEL                                                                  \
    "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n"                    \
    "  --num-attention-heads: 4\n  --vocab-size: 100\n"

Test(dialect, model_args_are_flags)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(read_yaml(&a,
                           "# a case\nENV_VARS:\n  A: [1, {b: 2}]\n" MODEL
                           "  --swiglu: true\n  --disable-bias-linear: false\n"
                           "  --moe-layer-freq: ([0]*1+[1]*3)\n"
                           "  num-experts: 8\n"
                           "  --recompute-modules: [core_attn, mlp]\n"
                           "TEST_TYPE: regular\n",
                           &m, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert(m.n_layers == 4 && m.gated && m.linear_bias);
    cr_assert(m.n_experts == 8 && model_unit_count(&m, KIND_T_DENSE) == 1);
    arena_clear(&a);
}

Test(dialect, quoted_words_are_values)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    cr_assert_eq(
        read_yaml(&a, MODEL "  --normalization: 'RMSNorm'\n", &m, &msg), ERR_OK,
        "%s", msg.text);
    cr_assert_not(m.layernorm);
    arena_clear(&a);
}

/* A switch of a flat file, as Python's reader takes its value, and of
 * Megatron's CI: 1 given, 0 not given, -1 refused. */
static const struct {
    const char *value;
    int flat, ci;
} switches[] = {
    {"true", 1, 1},     {"TRUE", 1, 1},    {"yes", 1, 1},    {"On", 1, 1},
    {"false", 0, 0},    {"FALSE", 0, 0},   {"no", 0, 0},     {"off", 0, 0},
    {"~", 0, 0},        {"0", -1, -1},     {"1", -1, -1},    {"'yes'", -1, 1},
    {"'false'", -1, 0}, {"\"no\"", -1, 0}, {"nope", -1, -1}, {"''", -1, -1},
};

static int switch_of(const char *before, const char *value)
{
    struct arena a;
    struct model m;
    struct err_msg msg = {""};
    char text[512];
    snprintf(text, sizeof text, "%s%s\n", before, value);
    enum err e = read_yaml(&a, text, &m, &msg);
    int is = e == ERR_OK ? !m.linear_bias : -1;
    arena_clear(&a);
    return is;
}

Test(dialect, a_switch_is_what_pythons_reader_makes_of_it)
{
    const char *flat = "num_layers: 4\nhidden_size: 64\nseq_length: 32\n"
                       "num_attention_heads: 4\nvocab_size: 100\n"
                       "disable_bias_linear: ";
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        cr_expect_eq(switch_of(flat, switches[i].value), switches[i].flat,
                     "flat: %s", switches[i].value);
        cr_expect_eq(
            switch_of(MODEL "  --disable-bias-linear: ", switches[i].value),
            switches[i].ci, "ci: %s", switches[i].value);
    }
    // eight is meant by nobody
    cr_expect_eq(switch_of("hidden_size: 64\nnum_layers: ", "010"), -1);
}

/* text, and a word that the message must hold */
static const struct {
    const char *text, *word;
} bad[] = {
    {"OTHER: 1\n", "MODEL_ARGS"},
    {"MODEL_ARGS: 3\n", "m.yaml:1:13: MODEL_ARGS: want a map"},
    {MODEL MODEL, "twice"},
    {MODEL "  --num-experts: {a: 1}\n", "m.yaml:6:18"},
    {MODEL "  --num-experts: [[1]]\n", "plain values"},
    {MODEL "  [a]: 1\n", "flag's name"},
    {MODEL "  --num-experts: four\n", "'four'"},
    {MODEL " bad", "m.yaml:"},
    {"- MODEL_ARGS:\n", "map at the top"},
    {"\t\n", "m.yaml:"},
};

Test(dialect, errors_have_line_and_column)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena a;
        struct model m;
        struct err_msg msg = {""};
        cr_expect_eq(err_exit_code(read_yaml(&a, bad[i].text, &m, &msg)), 2,
                     "%s", bad[i].text);
        cr_expect(strstr(msg.text, bad[i].word), "'%s' lacks '%s'", msg.text,
                  bad[i].word);
        arena_clear(&a);
    }
}

/* ---- values, lines and variables ---- */

struct read {
    struct arena a;
    struct megatron_args *args;
    struct megatron_flags *f;
    struct account *account;
    struct err_msg msg;
};

static enum err read_at(struct read *r, const char *where, const char *text)
{
    *r = (struct read){.msg = {""}};
    arena_init(&r->a);
    r->args = megatron_args_new(&r->a);
    r->f = megatron_args_flags(r->args);
    r->account = megatron_args_account(r->args);
    return dialect_read_yaml(
        &r->a, &(struct dialect_file){.text = text, .where = where}, r->args,
        &r->msg);
}

static enum err read_form(struct read *r, const char *text)
{
    return read_at(r, "m.yaml", text);
}

static bool list_holds(const struct account_list *list, const char *word)
{
    for (const struct account_line *l = list->first; l; l = l->next)
        if (strstr(l->text, word))
            return true;
    return false;
}

static void expect_int(const struct read *r, enum flag_id id, int64_t want)
{
    cr_expect_eq(flags_int(r->f, id, -1), want, "--%s: got %lld, want %lld",
                 flag_name(id), (long long)flags_int(r->f, id, -1),
                 (long long)want);
}

Test(dialect, values_know_their_lines)
{
    struct read r;
    cr_assert_eq(read_form(&r, MODEL "  --swiglu: true\n"), ERR_OK);
    cr_expect_str_eq(r.f->slot[FLAG_NUM_LAYERS].from, "m.yaml:2");
    cr_expect_str_eq(r.f->slot[FLAG_SWIGLU].from, "m.yaml:6");
    arena_clear(&r.a);
}

Test(dialect, inner_quotes_are_the_shells)
{
    struct read r;
    cr_assert_eq(
        read_form(&r,
                  MODEL "  --pipeline-model-parallel-layout: \"'Et*3|t*1L'\"\n"
                        "  --tokenizer-type: '\"NullTokenizer\"'\n"),
        ERR_OK);
    cr_expect_str_eq(flags_text(r.f, FLAG_LAYOUT), "Et*3|t*1L");
    cr_expect_str_eq(flags_text(r.f, FLAG_TOKENIZER_TYPE), "NullTokenizer");
    arena_clear(&r.a);
}

Test(dialect, variables_are_unknown_defaults_are_assumed)
{
    struct read r;
    cr_assert_eq(read_form(&r,
                           MODEL "  --tensor-model-parallel-size: ${WAYS}\n"
                                 "  --pipeline-model-parallel-size: $STAGES\n"
                                 "  --context-parallel-size: '{{cp}}'\n"
                                 "  --seq-length: ${SEQ:-2048}\n"
                                 "  --data-path: ${DATA}/x\n"),
                 ERR_OK, "%s", r.msg.text);
    cr_assert(flags_unknown(r.f, FLAG_TP) && flags_unknown(r.f, FLAG_PP) &&
              flags_unknown(r.f, FLAG_CP));
    cr_expect_str_eq(r.f->slot[FLAG_TP].unknown->why, "${WAYS}");
    cr_expect_str_eq(r.f->slot[FLAG_TP].unknown->where, "m.yaml:6");
    cr_expect_str_eq(r.f->slot[FLAG_PP].unknown->why, "$STAGES");
    expect_int(&r, FLAG_SEQ_LENGTH, 2048);
    cr_expect(list_holds(&r.account->assumed, "SEQ"));
    cr_expect_not(list_holds(&r.account->assumed, "DATA"));
    arena_clear(&r.a);
}

Test(dialect, variables_of_the_file_itself_are_known)
{
    struct read r;
    cr_assert_eq(read_form(&r, "ENV_VARS:\n  WAYS: 4\n" MODEL
                               "  --tensor-model-parallel-size: ${WAYS}\n"),
                 ERR_OK, "%s", r.msg.text);
    expect_int(&r, FLAG_TP, 4);
    cr_expect_str_eq(r.f->slot[FLAG_TP].from, "m.yaml:8");
    arena_clear(&r.a);
}

Test(dialect, a_list_of_numbers_is_one_value)
{
    struct read r;
    cr_assert_eq(read_form(&r, MODEL "  --moe-layer-freq: [0, 1, 1, 1]\n"),
                 ERR_OK);
    cr_expect_str_eq(flags_text(r.f, FLAG_MOE_LAYER_FREQ), "[0,1,1,1]");
    arena_clear(&r.a);
}

Test(dialect, a_key_twice_is_told_of)
{
    struct read r;
    cr_assert_eq(read_form(&r, MODEL "  --num-layers: 8\n"), ERR_OK);
    expect_int(&r, FLAG_NUM_LAYERS, 8);
    cr_expect(list_holds(&r.account->warnings, "--num-layers is there twice"));
    arena_clear(&r.a);
}

Test(dialect, aliases_of_aliases_end)
{
    struct read r;
    char text[4096] = "a0: &a0 {x: 1}\n";
    for (int i = 1; i < 30; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "a%d: &a%d {l: *a%d, r: *a%d}\n", i, i, i - 1, i - 1);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "system: *a29\nmodel: *a29\n");
    cr_assert_eq(read_form(&r, text), ERR_PARSE);
    cr_expect(strstr(r.msg.text, "too many values"), "%s", r.msg.text);
    arena_clear(&r.a);
}

/* ---- forms ---- */

/* A document, and what is read of it: layers, TP, PP, world (-1: not given),
 * and a word that the account's changes or an unknown value must hold. */
static const struct {
    const char *name, *text;
    int64_t layers, tp, pp, world;
    const char *change, *unknown;
} forms[] = {
    {"NeMo 1",
     "trainer:\n  devices: 8\n  num_nodes: 2\nmodel:\n  num_layers: 6\n"
     "  hidden_size: 64\n  num_attention_heads: 8\n  num_query_groups: 2\n"
     "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 4\n"
     "  encoder_seq_length: 128\n  max_position_embeddings: "
     "${.encoder_seq_length}\n  bias: False\n  activation: fast-swiglu\n"
     "  normalization: rmsnorm\n  share_embeddings_and_output_weights: False\n"
     "  data: {seq_length: 5}\n",
     6, 2, 4, 16, NULL, NULL},
    {"NeMo without sizes",
     "trainer: {devices: 8}\nmodel:\n  tensor_model_parallel_size: 2\n", -1, 2,
     1, -1, NULL, "NeMo"},
    {"Primus",
     "modules:\n  pre_trainer:\n    framework: megatron\n"
     "    model: no_such_model.yaml\n    overrides:\n"
     "      tensor_model_parallel_size: ${PRIMUS_TP:4}\n"
     "      num_layers: 3\n",
     3, 4, 1, -1, "no_such_model.yaml", NULL},
    {"FlagScale",
     "system:\n  tensor_model_parallel_size: 2\n  precision: {bf16: true}\n"
     "model:\n  num_layers: 5\n  optimizer: {lr: 1}\n"
     "data:\n  tokenizer: {vocab_size: 100}\n",
     5, 2, 1, -1, NULL, NULL},
    {"FlagScale's top",
     "defaults:\n  - _self_\n  - train: absent\nexperiment:\n"
     "  runner: {nnodes: 2, nproc_per_node: 4}\naction: run\n",
     -1, 1, 1, 8, "train/absent.yaml", "FlagScale"},
    {"Megatron-Bridge",
     "model:\n  _target_: x.Y\n  num_layers: 4\n  gated_linear_unit: true\n"
     "  activation_func: {_target_: torch.nn.functional.silu}\n"
     "  pipeline_model_parallel_size: 2\n"
     "  pipeline_model_parallel_layout: [[embedding, decoder, decoder], "
     "[decoder, decoder, mtp, loss]]\ntrain: {global_batch_size: 8}\n",
     4, 1, 2, -1, NULL, NULL},
    {"Megatron-Bridge's overrides",
     "model:\n  tensor_model_parallel_size: 2\ntrain: {micro_batch_size: 1}\n",
     -1, 2, 1, -1, NULL, "recipe"},
    {"GPT-NeoX",
     "{\n \"pipe-parallel-size\": 0, # no pipeline\n"
     " \"model-parallel-size\": 2,\n \"num-layers\": 12,\n"
     " \"activation\": \"swiglu\",\n \"fp16\": {\"enabled\": true},\n}\n",
     12, 2, 1, -1, "activation", NULL},
    {"verl",
     "actor_rollout_ref:\n  model: {path: Org/Name}\n  actor:\n    megatron:\n"
     "      pipeline_model_parallel_size: 4\n      override_transformer_config:"
     "\n        num_layers_in_first_pipeline_stage: 3\n"
     "  ref:\n    megatron: {tensor_model_parallel_size: 8}\n"
     "trainer: {nnodes: 2, n_gpus_per_node: 8}\n",
     -1, 1, 4, 16, NULL, "Org/Name"},
    {"--yaml-cfg",
     "language_model:\n  num_layers: 24\n  activation_func: swiglu\n"
     "  num_moe_experts: null\nmodel_parallel:\n"
     "  tensor_model_parallel_size: 2\nmicro_batch_size: 1\n",
     24, 2, 1, -1, NULL, NULL},
    {"ms-swift",
     "model: Org/Name\ndataset: x\ntensor_model_parallel_size: 2\n"
     "tuner_type: lora\nmax_length: 4096\n",
     -1, 2, 1, -1, NULL, "Org/Name"},
    {"flat", "num_layers: 3\ntensor_model_parallel_size: 2\n", 3, 2, 1, -1,
     NULL, NULL},
    {"flat that extends", "extends: [absent.yaml]\nnum_layers: 3\n", 3, 1, 1,
     -1, "absent.yaml", NULL},
    {"NeMo 2's test",
     "MODEL_ARGS:\n  trainer.devices: 8\n  trainer.num_nodes: 1\n"
     "  model.config.num_layers: 12\n"
     "  trainer.strategy.tensor_model_parallel_size: 2\n",
     12, 2, 1, 8, "trainer.*", NULL},
};

Test(dialect, each_form_is_told_and_read)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct read r;
        cr_assert_eq(read_form(&r, forms[i].text), ERR_OK, "%s: %s",
                     forms[i].name, r.msg.text);
        expect_int(&r, FLAG_NUM_LAYERS, forms[i].layers);
        expect_int(&r, FLAG_TP, forms[i].tp);
        expect_int(&r, FLAG_PP, forms[i].pp);
        expect_int(&r, FLAG_WORLD_SIZE, forms[i].world);
        cr_expect_eq(r.account->changes.n > 0, forms[i].change != NULL,
                     "%s: %s", forms[i].name,
                     r.account->changes.n ? r.account->changes.first->text
                                          : "no change");
        if (forms[i].change)
            cr_expect(list_holds(&r.account->changes, forms[i].change), "%s",
                      forms[i].name);
        const struct flag_unknown *u = r.f->slot[FLAG_NUM_LAYERS].unknown;
        cr_expect_eq(u != NULL, forms[i].unknown != NULL, "%s", forms[i].name);
        if (u && forms[i].unknown)
            cr_expect(strstr(u->why, forms[i].unknown), "%s: %s", forms[i].name,
                      u->why);
        arena_clear(&r.a);
    }
}

Test(dialect, nemos_words_are_translated)
{
    struct read r;
    cr_assert_eq(read_form(&r, forms[0].text), ERR_OK);
    cr_expect(flags_given(r.f, FLAG_SWIGLU));
    cr_expect(flags_given(r.f, FLAG_DISABLE_BIAS_LINEAR));
    cr_expect(flags_given(r.f, FLAG_UNTIE));
    cr_expect(flags_given(r.f, FLAG_GROUP_QUERY_ATTENTION));
    cr_expect(flags_is(r.f, FLAG_NORMALIZATION, "RMSNorm"));
    expect_int(&r, FLAG_SEQ_LENGTH, 128);
    expect_int(&r, FLAG_MAX_POSITION_EMBEDDINGS, 128);
    arena_clear(&r.a);
}

Test(dialect, bridges_stages_are_a_layout)
{
    struct read r;
    cr_assert_eq(read_form(&r, forms[5].text), ERR_OK);
    cr_expect_str_eq(flags_text(r.f, FLAG_LAYOUT), "Ett|ttmL");
    cr_expect(flags_given(r.f, FLAG_SWIGLU));
    arena_clear(&r.a);
}

Test(dialect, what_is_no_form_is_named)
{
    struct read r;
    cr_assert_eq(read_form(&r, "services:\n  web: {image: x}\n"), ERR_PARSE);
    cr_expect(strstr(r.msg.text, "services"), "%s", r.msg.text);
    arena_clear(&r.a);
    cr_assert_eq(read_form(&r, "modules: {t: {framework: torchtitan}}\n"),
                 ERR_PARSE);
    cr_expect(strstr(r.msg.text, "Primus"), "%s", r.msg.text);
    arena_clear(&r.a);
}

/* text, and whether it is YAML */
static const struct {
    const char *text;
    bool yaml;
} texts[] = {
    {"a: 1\nb:\n  - x\n", true},
    {"# c\n---\nmodel:\n    y: 1\n", true},
    {"# c\n{\n   # d\n   \"x\": 1,\n}\n", true},
    {"{\n \"pipe-parallel-size\": 1,\n}\n", true},
    {"{\n \"format\": \"x\",\n \"num_layers\": 2\n}\n", false},
    {"#!/bin/sh\na: 1\n", false},
    {"export A=1\npython x.py\n", false},
    {"0: ---- arguments ----\n", false},
    {"step: 1\ntraining has begun\n", false},
    {"", false},
};

Test(dialect, yaml_is_told_from_other_texts)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect_eq(dialect_is_yaml(texts[i].text), texts[i].yaml, "%s",
                     texts[i].text);
}

/* ---- files beside ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

Test(dialect, files_that_stand_beside_are_read)
{
    struct read r;
    char folder[] = "/tmp/moe-dialect-XXXXXX", path[256];
    cr_assert_not_null(mkdtemp(folder));
    write_file(folder, "base.yaml", "num_layers: 4\nhidden_size: 32\n");
    write_file(folder, "loop.yaml", "extends: [loop.yaml]\nnum_layers: 4\n");
    snprintf(path, sizeof path, "%s/top.yaml", folder);
    cr_assert_eq(read_at(&r, path, "extends: [base.yaml]\nhidden_size: 64\n"),
                 ERR_OK, "%s", r.msg.text);
    expect_int(&r, FLAG_NUM_LAYERS, 4);
    expect_int(&r, FLAG_HIDDEN_SIZE, 64);
    cr_expect_eq(r.account->changes.n, 0);
    arena_clear(&r.a);
    cr_assert_eq(read_at(&r, path, "extends: [loop.yaml]\n"), ERR_PARSE);
    cr_expect(strstr(r.msg.text, "files"), "%s", r.msg.text);
    arena_clear(&r.a);
    remove_file(folder, "base.yaml");
    remove_file(folder, "loop.yaml");
    rmdir(folder);
}

/* ---- words ---- */

enum { MAX_WORDS = 32 };

static enum err read_launch(struct read *r, const char *line)
{
    static char *words[MAX_WORDS];
    struct dialect_words w = {.argv = words};
    *r = (struct read){.msg = {""}};
    arena_init(&r->a);
    r->args = megatron_args_new(&r->a);
    r->f = megatron_args_flags(r->args);
    r->account = megatron_args_account(r->args);
    char *rest = arena_strdup(&r->a, line);
    for (char *s; (s = strtok_r(rest, " ", &rest)) && w.argc < MAX_WORDS;)
        words[w.argc++] = s;
    cr_assert(dialect_is_words(&w), "%s", line);
    return dialect_read_words(r->args, &w, &r->msg);
}

Test(dialect, hydras_keys_are_read_and_named)
{
    struct read r;
    cr_assert_eq(
        read_launch(&r, "python3 -m rl.main algorithm=grpo "
                        "actor.model.path=/m actor.megatron.pipeline_model_"
                        "parallel_size=8 +actor.megatron.override_transformer_"
                        "config.num_layers_in_last_pipeline_stage=6 "
                        "ref.megatron.tensor_model_parallel_size=4 "
                        "trainer.nnodes=4 trainer.n_gpus_per_node=8"),
        ERR_OK, "%s", r.msg.text);
    expect_int(&r, FLAG_PP, 8);
    expect_int(&r, FLAG_LAST_LAYERS, 6);
    expect_int(&r, FLAG_TP, 1);
    expect_int(&r, FLAG_WORLD_SIZE, 32);
    cr_assert(flags_unknown(r.f, FLAG_NUM_LAYERS));
    cr_expect(strstr(r.f->slot[FLAG_NUM_LAYERS].unknown->why, "/m"));
    cr_expect(list_holds(&r.account->assumed,
                         "actor.megatron.pipeline_model_parallel_size"));
    cr_expect(list_holds(&r.account->assumed,
                         "not read: algorithm, actor.model.path, "
                         "ref.megatron.tensor_model_parallel_size"));
    arena_clear(&r.a);
}

Test(dialect, hydras_configuration_is_named)
{
    struct read r;
    cr_assert_eq(read_launch(&r, "python train.py --config-name=gpt "
                                 "model.num_layers=24 ++model.hidden_size=64 "
                                 "model.num_attention_heads=8"),
                 ERR_OK);
    expect_int(&r, FLAG_NUM_LAYERS, 24);
    expect_int(&r, FLAG_HIDDEN_SIZE, 64);
    cr_expect(list_holds(&r.account->assumed, "configuration gpt"));
    arena_clear(&r.a);
    cr_expect_eq(
        read_launch(&r, "python train.py model.num_layers=x model.lr=1"),
        ERR_PARSE);
    cr_expect(strstr(r.msg.text, "model.num_layers"), "%s", r.msg.text);
    arena_clear(&r.a);
}

static void expect_nemos_optimizer(struct read *r)
{
    cr_expect(flags_given(r->f, FLAG_DIST_OPT));
    cr_expect(flags_given(r->f, FLAG_GRAD_REDUCE_BF16));
    cr_expect(flags_given(r->f, FLAG_OVERLAP_GRAD_REDUCE));
    cr_expect_not(flags_given(r->f, FLAG_OVERLAP_PARAM_GATHER));
    cr_expect_eq(r->account->changes.n, 0);
    arena_clear(&r->a);
}

Test(dialect, nemos_optimizer_is_megatrons)
{
    struct read r;
    cr_assert_eq(
        read_form(&r, "trainer: {devices: 8}\nmodel:\n  num_layers: 4\n"
                      "  attention_type: multihead\n  optim:\n"
                      "    name: mcore_distributed_optim\n"
                      "    grad_sync_dtype: bf16\n    overlap_grad_sync: yes\n"
                      "    overlap_param_sync: false\n"),
        ERR_OK, "%s", r.msg.text);
    expect_nemos_optimizer(&r);
    cr_assert_eq(
        read_launch(
            &r, "python3 pre.py model.optim.name=mcore_distributed_optim "
                "+model.optim.grad_sync_dtype=bf16 training.model.bias=False "
                "model.optim.overlap_grad_sync=True "
                "model.optim.overlap_param_sync=False "
                "model.share_embeddings_and_output_weights=False "
                "model.activations_checkpoint_granularity=full "
                "model.activation=gelu"),
        ERR_OK, "%s", r.msg.text);
    cr_expect(flags_is(r.f, FLAG_RECOMPUTE_GRANULARITY, "full"));
    cr_expect(flags_given(r.f, FLAG_UNTIE));
    cr_expect(flags_given(r.f, FLAG_DISABLE_BIAS_LINEAR));
    cr_expect_not(flags_given(r.f, FLAG_SWIGLU));
    expect_nemos_optimizer(&r);
}

Test(dialect, verls_optimizer_is_sharded_by_itself)
{
    struct read r;
    cr_assert_eq(read_launch(&r, "python3 v.py actor_rollout_ref.model.path=/m "
                                 "actor_rollout_ref.rollout.n=8"),
                 ERR_OK, "%s", r.msg.text);
    cr_expect(flags_given(r.f, FLAG_DIST_OPT));
    cr_expect(list_holds(&r.account->assumed, "use-distributed-optimizer"));
    arena_clear(&r.a);
}

Test(dialect, swifts_words_are_flags_with_its_defaults)
{
    struct read r;
    cr_assert_eq(read_launch(&r,
                             "megatron sft --model Org/Name --max_length 4096 "
                             "--tensor_model_parallel_size 2 "
                             "--untie_embeddings_and_output_weights false"),
                 ERR_OK, "%s", r.msg.text);
    expect_int(&r, FLAG_TP, 2);
    expect_int(&r, FLAG_SEQ_LENGTH, 4096);
    expect_int(&r, FLAG_GLOBAL_BATCH_SIZE, 16);
    cr_expect(flags_given(r.f, FLAG_SWIGLU));
    cr_expect_not(flags_given(r.f, FLAG_UNTIE));
    cr_assert(flags_unknown(r.f, FLAG_NUM_LAYERS));
    cr_expect(strstr(r.f->slot[FLAG_NUM_LAYERS].unknown->why, "config.json"));
    cr_expect(list_holds(&r.account->assumed, "ms-swift's defaults"));
    arena_clear(&r.a);
}

Test(dialect, megatrons_own_words_are_no_others)
{
    char *argv[] = {"torchrun", "pretrain_gpt.py", "--num-layers",
                    "4",        "--rdzv-conf",     "a.b=c"};
    const struct dialect_words w = {.argv = argv, .argc = 6};
    cr_assert_not(dialect_is_words(&w));
}
