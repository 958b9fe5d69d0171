/*
 * How it works: a row for each form says which keys tell it, which of its maps
 * hold Megatron's names (yaml reads those), what else these are called, and
 * where sizes are that it does not hold; a function does what no table says.
 * Names are those of the projects' own configurations of 2024 to 2026.
 */
#include "dialect_form.h"

#include "base/text.h"
#include "dialect.h"
#include "dialect_primus.h"
#include "dialect_rl.h"

#include <stdio.h>
#include <string.h>

static struct account *dialect_account(struct dialect *d)
{
    return megatron_args_account(d->y.args);
}

/* `extends: [base.yaml]`, and other words for it. */
static enum err dialect_bases(struct dialect *d)
{
    static const char *const keys[] = {"extends", "bases", "includes"};
    const char *type = tree_text(tree_get(d->y.top, "model_type"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct tree *at = tree_get(d->y.top, keys[i]);
        const struct tree *one = at && at->kind == TREE_LIST ? at->child : at;
        for (; one; one = at->kind == TREE_LIST ? one->next : NULL) {
            const char *name = tree_text(one);
            enum err e = name ? dialect_need(d, at, name) : ERR_OK;
            if (e != ERR_OK)
                return e;
        }
    }
    // after those of the files that it extends
    d->all->model_type = type ? type : d->all->model_type;
    return ERR_OK;
}

/* ---- activations, which config classes state in two keys ---- */

#define DIALECT_GATED                                                          \
    "a gated MLP: give --swiglu, which has the same matrices, and "            \
    "--ffn-hidden-size"

/* Flag of the activation: its name, or NULL: an MLP of two matrices. */
static const char *dialect_activation_flag(const char *func, bool gated)
{
    if (strstr(func, "swiglu") ||
        (gated && (strstr(func, "silu") || strstr(func, "swish"))))
        return "swiglu";
    if (gated && strstr(func, "quick_gelu"))
        return "quick-geglu";
    if (strstr(func, "squared_relu") || strstr(func, "squared-relu"))
        return "squared-relu";
    return gated || strstr(func, "glu") ? "" : NULL;
}

/* In `map`: a name, or a function by its path. */
static enum err dialect_activation(struct dialect *d, const struct tree *map)
{
    static const char *const keys[] = {"activation_func", "activation"};
    const struct tree *at = NULL, *gate = tree_get(map, "gated_linear_unit");
    for (size_t i = 0; i < 2 && !at; i++)
        at = tree_get(map, keys[i]);
    const char *func =
        tree_text(at && at->kind == TREE_MAP ? tree_get(at, "_target_") : at);
    bool yes = false, is_gated = tree_bool(gate, &yes) && yes;
    const char *flag = dialect_activation_flag(func ? func : "", is_gated);
    at = at ? at : gate;
    if (!flag || !at)
        return ERR_OK;
    if (*flag)
        return dialect_set(d, flag, "true", at);
    account_change(dialect_account(d), at->key, DIALECT_GATED);
    return ERR_OK;
}

/* ---- Megatron's CI ---- */

static enum err dialect_ci(struct dialect *d)
{
    const struct tree *at = tree_get(d->y.top, "MODEL_ARGS");
    if (at->kind != TREE_MAP)
        return err_set(d->y.msg, ERR_PARSE,
                       "%s:%d:%d: MODEL_ARGS: want a map of flags", d->y.where,
                       at->line, at->column);
    if (at->twice)
        return err_set(d->y.msg, ERR_PARSE,
                       "%s:%d: MODEL_ARGS is there twice, line %d before",
                       d->y.where, at->line, at->twice);
    // a test of NeMo's: keys with dots
    long long nodes = 0, gpus = 0;
    const struct tree *devices = tree_get(at, "trainer.devices");
    if (devices)
        account_change(dialect_account(d), "trainer.*",
                       "keys with dots are put into a recipe of NeMo's, whose "
                       "other values are not known here: give the flags "
                       "behind --");
    if (tree_int(devices, &gpus) &&
        tree_int(tree_get(at, "trainer.num_nodes"), &nodes))
        dialect_world(
            d->y.args, nodes, gpus,
            arena_printf(d->y.arena, "%s:%d", d->y.where, devices->line));
    d->y.quiet = false;
    return yaml_take_map(&d->y, at, false);
}

/* ---- FlagScale ---- */

/* Hydra's list of files: `- train: 16b_a3b` is train/16b_a3b.yaml. */
static enum err dialect_defaults(struct dialect *d)
{
    const struct tree *list = tree_get(d->y.top, "defaults");
    const struct tree *one =
        list && list->kind == TREE_LIST ? list->child : NULL;
    for (; one; one = one->next) {
        const struct tree *group = one->kind == TREE_MAP ? one->child : NULL;
        const char *name = group ? tree_text(group) : tree_text(one);
        if (!name || strcmp(name, "_self_") == 0)
            continue;
        const char *file =
            arena_printf(d->y.arena, "%s%s%s.yaml", group ? group->key : "",
                         group ? "/" : "", name);
        if (!file)
            return err_set(d->y.msg, ERR_NOMEM, "%s: out of memory",
                           d->y.where);
        enum err e = dialect_need(d, list, file);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* ---- Megatron-Bridge and NeMo 2 ---- */

/* Stages as lists of words; false for words that are none. */
static bool dialect_stages(const struct tree *list, char *out, size_t room)
{
    static const char words[][10] = {"embedding", "decoder", "mtp", "loss"};
    size_t n = 0;
    for (const struct tree *s = list->child; s; s = s->next) {
        if (s->kind != TREE_LIST)
            return false;
        for (const struct tree *u = s->child; u; u = u->next) {
            int i = 0;
            while (i < 4 && u->kind == TREE_TEXT && strcmp(u->text, words[i]))
                i++;
            if (i == 4 || u->kind != TREE_TEXT || n + 2 >= room)
                return false;
            out[n++] = "EtmL"[i];
        }
        if (s->next)
            out[n++] = '|';
    }
    out[n] = '\0';
    return true;
}

/* The layout is a string there, or a list of stages of words. */
static enum err dialect_bridge(struct dialect *d)
{
    char text[2048];
    const struct tree *model = tree_get(d->y.top, "model");
    const struct tree *at = tree_get(model, "pipeline_model_parallel_layout");
    enum err e = dialect_activation(d, model);
    if (tree_get(model, "teacher"))
        account_change(dialect_account(d), "model.teacher",
                       "a second model, its teacher, takes memory and time");
    if (e != ERR_OK || !at)
        return e;
    if (at->kind == TREE_TEXT) {
        const struct tree *member = at;
        d->y.names = NULL; // the form's own name passes it over
        e = yaml_take(&d->y, member);
        d->y.names = d->form->names;
        return e;
    }
    if (!dialect_stages(at, text, sizeof text))
        return err_set(d->y.msg, ERR_PARSE,
                       "%s:%d: %s: want stages of embedding, decoder, mtp and "
                       "loss",
                       d->y.where, at->line, at->key);
    return dialect_set(d, "pipeline-model-parallel-layout", text, at);
}

/* ---- NeMo 1 ---- */

/* Words of NeMo for what Megatron has other words for. */
static const struct dialect_word {
    const char *path, *word, *flag, *text;
} nemo_words[] = {
    {"model.normalization", "rmsnorm", "normalization", "RMSNorm"},
    {"model.normalization", "RMSNorm", "normalization", "RMSNorm"},
    {"model.fp8", "true", "fp8-format", "hybrid"},
    {"model.precision", "bf16", "bf16", "true"},
    {"trainer.precision", "bf16", "bf16", "true"},
    {"trainer.precision", "16", "fp16", "true"},
    {"model.optim.name", "distributed_fused_adam", "use-distributed-optimizer",
     "true"},
    {"model.optim.name", "mcore_distributed_optim", "use-distributed-optimizer",
     "true"},
    {"model.optim.grad_sync_dtype", "bf16", "grad-reduce-in-bf16", "true"},
    {"model.optim.overlap_grad_sync", "true", "overlap-grad-reduce", "true"},
    {"model.optim.overlap_param_sync", "true", "overlap-param-gather", "true"},
    {NULL, NULL, NULL, NULL},
};

static const struct dialect_word neox_words[] = {
    {"norm", "rmsnorm", "normalization", "RMSNorm"},
    {"pos_emb", "rotary", "position-embedding-type", "rope"},
    {"pos-emb", "rotary", "position-embedding-type", "rope"},
    {"pos_emb", "none", "position-embedding-type", "none"},
    {"pos-emb", "none", "position-embedding-type", "none"},
    {"fp16.enabled", "true", "fp16", "true"},
    {"bf16.enabled", "true", "bf16", "true"},
    {"precision", "bfloat16", "bf16", "true"},
    {"precision", "fp16", "fp16", "true"},
    {NULL, NULL, NULL, NULL},
};

static enum err dialect_words_of(struct dialect *d,
                                 const struct dialect_word *words)
{
    for (; words->path; words++) {
        const struct tree *at = tree_find(d->y.top, words->path);
        bool yes = false;
        const char *text =
            tree_bool(at, &yes) ? (yes ? "true" : "false") : tree_text(at);
        if (!text || strncmp(text, words->word, strlen(words->word)) != 0)
            continue;
        enum err e = dialect_set(d, words->flag, words->text, at);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

static enum err dialect_nemo(struct dialect *d)
{
    const struct tree *block =
        tree_find(d->y.top, "model.transformer_block_type");
    enum err e = dialect_words_of(d, nemo_words);
    if (tree_text(block) && strcmp(block->text, "pre_ln") != 0)
        account_change(dialect_account(d), block->key,
                       "norms stand elsewhere than in Megatron's layers");
    return e == ERR_OK ? dialect_activation(d, tree_get(d->y.top, "model")) : e;
}

/* ---- GPT-NeoX ---- */

/* Keys stand with dashes or underscores. */
static const struct tree *dialect_neox_get(struct dialect *d, const char *key)
{
    char dashed[64];
    const struct tree *at = tree_get(d->y.top, key);
    snprintf(dashed, sizeof dashed, "%s", key);
    for (char *p = dashed; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return at ? at : tree_get(d->y.top, dashed);
}

/* No stages at all are one stage; widths of a gated MLP are worked out in ways
 * of its own. */
static enum err dialect_neox(struct dialect *d)
{
    long long stages = 0;
    const struct tree *at = dialect_neox_get(d, "activation");
    const char *activation = tree_text(at);
    const char *norm = tree_text(tree_get(d->y.top, "norm"));
    const struct tree *zero = tree_find(d->y.top, "zero_optimization.stage");
    enum err e = dialect_words_of(d, neox_words);
    if (activation && strcmp(activation, "gelu") != 0)
        account_change(dialect_account(d), "activation",
                       "GPT-NeoX works out its width in a way of its own: give "
                       "--swiglu where it is gated, and --ffn-hidden-size");
    if (norm && strcmp(norm, "layernorm") != 0 && strcmp(norm, "rmsnorm") != 0)
        account_change(dialect_account(d), "norm",
                       "a norm that Megatron does not have");
    if (e == ERR_OK && zero)
        e = dialect_set(d, "zero_stage", tree_text(zero), zero);
    at = dialect_neox_get(d, "pipe_parallel_size");
    if (e == ERR_OK && tree_int(at, &stages) && stages > 0)
        e = dialect_set(d, "pipeline-model-parallel-size", at->text, at);
    return e;
}

/* ---- ms-swift ---- */

static const struct {
    const char *flag, *text;
} swift_defaults[] = {
    {"global-batch-size", "16"},
    {"normalization", "RMSNorm"},
    {"position-embedding-type", "rope"},
    {"swiglu", "true"},
    {"disable-bias-linear", "true"},
    {"untie-embeddings-and-output-weights", "true"},
    {"attention-dropout", "0"},
    {"hidden-dropout", "0"},
    {"bf16", "true"},
    {"use-distributed-optimizer", "true"},
    {"recompute-granularity", "selective"},
    {"cross-entropy-loss-fusion", "true"},
    {"attention-softmax-in-fp32", "true"},
    {"moe-grouped-gemm", "true"},
    {"moe-token-dispatcher-type", "alltoall"},
    {"expert-tensor-parallel-size", "1"},
};

/* Before any flag is read, so that those that are given go over them. */
enum err dialect_swift_defaults(struct megatron_args *args, struct err_msg *msg)
{
    struct account *account = megatron_args_account(args);
    for (size_t i = 0; i < sizeof swift_defaults / sizeof swift_defaults[0];
         i++) {
        const struct args_key key = {.key = swift_defaults[i].flag,
                                     .text = swift_defaults[i].text,
                                     .from = "ms-swift's default"};
        enum err e = megatron_args_key(args, &key, msg);
        if (e != ERR_OK)
            return e;
    }
    account_add(account, &account->assumed,
                "ms-swift's defaults are taken where it is given no value: "
                "RMSNorm, SwiGLU, rotary positions, no biases, untied "
                "embeddings, global batch 16, selective recompute, distributed "
                "optimizer, expert TP 1");
    return ERR_OK;
}

/* Sequences are as long as --max_length. */
static enum err dialect_swift(struct dialect *d)
{
    const struct tree *at = tree_get(d->y.top, "max_length");
    enum err e = dialect_swift_defaults(d->y.args, d->y.msg);
    return e == ERR_OK && tree_text(at)
               ? dialect_set(d, "seq-length", at->text, at)
               : e;
}

static enum err dialect_verl(struct dialect *d)
{
    return dialect_shards_state(d->y.args, d->form->name, d->y.msg);
}

/* ---- the forms ---- */

static const struct yaml_name nemo_names[] = {
    {"activations_checkpoint_granularity", "recompute-granularity"},
    {"activations_checkpoint_method", "recompute-method"},
    {"activations_checkpoint_num_layers", "recompute-num-layers"},
    {"bias", "add-bias-linear"},
    {"share_embeddings_and_output_weights",
     "!untie-embeddings-and-output-weights"},
    {"override_vocab_size", "vocab-size"},
    {"normalization", ""},
    {"activation", ""},
    {"normalize_attention_scores", ""},
    {"use_flash_attention", ""},
    {"transformer_block_type", ""},
    {"fp8", ""},
    {"fp8_hybrid", ""},
    {"fp8_e4m3", ""},
    {NULL, NULL},
};

static const struct yaml_name bridge_names[] = {
    {"share_embeddings_and_output_weights",
     "!untie-embeddings-and-output-weights"},
    {"should_pad_vocab", "!no-pad-vocab-size"},
    {"sequence_length", "seq-length"},
    {"pipeline_model_parallel_layout", ""},
    {"activation_func", ""},
    {"gated_linear_unit", ""},
    {"parallel_output", ""},
    {"scatter_embedding_sequence_parallel", ""},
    {NULL, NULL},
};

// the first freezes the routers alone, the others count where another key is on
static const struct yaml_name rl_names[] = {
    {"freeze_moe_router", ""}, {"activation_checkpointing", ""},
    {"track_moe_metrics", ""}, {"recompute_granularity", ""},
    {"recompute_method", ""},  {"recompute_num_layers", ""},
    {"recompute_modules", ""}, {NULL, NULL},
};

// these mean to GPT-NeoX what they mean to Megatron, or nothing for sizes
static const struct yaml_name neox_names[] = {
    {"no_weight_tying", "untie-embeddings-and-output-weights"},
    {"train_batch_size", "global-batch-size"},
    {"moe_num_experts", "num-experts"},
    {"moe_top_k", "moe-router-topk"},
    {"pipe_parallel_size", ""},
    {"activation", ""},
    {"norm", ""},
    {"precision", ""},
    {"optimizer", ""},
    {"output_layer_parallelism", ""},
    {"synchronize_each_layer", ""},
    {NULL, NULL},
};

static const struct yaml_name cfg_names[] = {
    {"bert_binary_head", ""},
    {"activation_func", ""},
    {"gated_linear_unit", ""},
    {NULL, NULL},
};

static enum err dialect_cfg(struct dialect *d)
{
    return dialect_activation(d, tree_get(d->y.top, "language_model"));
}

// also of a file whose other keys are of anything
static const struct dialect_form rl_form = {
    .name = "NeMo-RL",
    .marks = "policy.megatron_cfg|policy.model_name|policy cluster",
    .sections = {"policy.megatron_cfg", "policy.megatron_cfg.optimizer",
                 "policy.megatron_cfg.distributed_data_parallel_config"},
    .names = rl_names,
    .more = dialect_nemo_rl,
    .nodes = "cluster.num_nodes",
    .gpus = "cluster.gpus_per_node",
    .model = "policy.model_name",
    .elsewhere = "the config.json of the model's checkpoint",
    .merged = "the configuration that it is put over",
    .config = true};

static const struct dialect_form forms[] = {
    {.name = "Megatron's CI", .marks = "MODEL_ARGS", .more = dialect_ci},
    {.name = "Primus", .marks = "modules", .more = dialect_primus},
    {.name = "GPT-NeoX",
     .marks = "pipe_parallel_size|pipe-parallel-size|"
              "train_micro_batch_size_per_gpu|train-micro-batch-size-per-gpu",
     .sections = {""},
     .names = neox_names,
     .more = dialect_neox,
     .elsewhere = "another file of GPT-NeoX's",
     .config = true},
    {.name = "verl",
     .marks = "actor_rollout_ref",
     .sections = {"actor_rollout_ref.actor.megatron",
                  "actor_rollout_ref.actor.megatron.override_transformer_"
                  "config"},
     .more = dialect_verl,
     .nodes = "trainer.nnodes",
     .gpus = "trainer.n_gpus_per_node",
     .model = "actor_rollout_ref.model.path",
     .elsewhere = "the config.json of the model's checkpoint",
     .merged = "verl's own, which counts prompts and not sequences",
     .config = true},
    {.name = "ROLL",
     .marks = "actor_train.strategy_args",
     .sections = {"actor_train.strategy_args.strategy_config"},
     .more = dialect_roll,
     .model = "pretrain",
     .elsewhere = "the config.json of the model's checkpoint",
     .merged = "ROLL's own words, which count by device",
     .config = true},
    {.name = "Megatron's --yaml-cfg",
     .marks = "language_model model_parallel",
     .sections = {"/"},
     .names = cfg_names,
     .more = dialect_cfg,
     .elsewhere = "language_model:",
     .config = true},
    {.name = "FlagScale",
     .marks = "system model|train.system|experiment defaults|experiment action",
     .sections = {"system/", "model/", "data/", "train.system/", "train.model/",
                  "train.data/"},
     .more = dialect_defaults,
     .nodes = "experiment.runner.nnodes",
     .gpus = "experiment.runner.nproc_per_node",
     .elsewhere = "the file of train:"},
    {.name = "NeMo",
     .marks = "model trainer|model exp_manager",
     .sections = {"model"},
     .names = nemo_names,
     .more = dialect_nemo,
     .nodes = "trainer.num_nodes",
     .gpus = "trainer.devices",
     .elsewhere = "the configuration that this one is merged into",
     .merged = "the configuration that it is merged into",
     .config = true},
    {.name = "Megatron-Bridge",
     .marks = "model.num_layers|model._target_|model train|model ddp|"
              "train.global_batch_size",
     .sections = {"model", "train", "dataset", "ddp", "optimizer"},
     .names = bridge_names,
     .more = dialect_bridge,
     .elsewhere = "the recipe that this file is merged into",
     .merged = "the recipe that it is merged into",
     .config = true},
    {.name = "ms-swift",
     .marks = "model dataset|mcore_model|tuner_type|train_type",
     .sections = {""},
     .more = dialect_swift,
     .model = "model",
     .elsewhere = "the config.json of the model's checkpoint"},
};

// Megatron's arguments at the top, and files that these extend
static const struct dialect_form flat_form = {
    .name = "flat file of Megatron's arguments",
    .sections = {""},
    .more = dialect_bases,
    .elsewhere = "another file",
};

/* Are all paths of one alternative there? */
static bool dialect_has_marks(const struct tree *top, const char *marks)
{
    char path[128];
    while (*marks) {
        bool all = true;
        size_t group = strcspn(marks, "|");
        for (const char *end = marks + group; marks < end;) {
            size_t n = strcspn(marks, " |");
            snprintf(path, sizeof path, "%.*s", (int)n, marks);
            all = all && tree_find(top, path);
            marks += n + (marks[n] == ' ');
        }
        if (all)
            return true;
        marks += *marks == '|';
    }
    return false;
}

/* Some keys at the top are ours, or it extends a file of such keys. */
static bool dialect_is_flat(const struct tree *top)
{
    int n = tree_get(top, "extends") || tree_get(top, "bases");
    for (const struct tree *c = top->child; c && n == 0; c = c->next)
        n += c->kind != TREE_MAP && megatron_args_has(c->key);
    return n > 0;
}

/* "defaults: ../base.yaml": NeMo-RL's word for the file below; FlagScale has a
 * list. */
static bool dialect_is_put_over(const struct tree *top)
{
    const char *base = tree_text(tree_get(top, "defaults"));
    return base && text_ends(base, ".yaml");
}

const struct dialect_form *dialect_form_of(const struct tree *top,
                                           bool drawn_in)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (dialect_has_marks(top, forms[i].marks))
            return &forms[i];
    if (dialect_is_put_over(top) || dialect_has_marks(top, rl_form.marks))
        return &rl_form;
    return drawn_in || dialect_is_flat(top) ? &flat_form : NULL;
}
