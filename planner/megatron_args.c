/*
 * How it works: every row of megatron_flags.h has one slot with its text.
 * Flags from a command line and keys of a model file fill the same slots;
 * megatron_args_model() reads them once all are known, because defaults depend
 * on other flags (the key/value width, the MLP's width, the data-parallel
 * size).
 */
#include "megatron_args.h"

#include "json.h"
#include "layer_freq.h"
#include "megatron_flags.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct megatron_args {
    struct megatron_flags f;
};

struct megatron_args *megatron_args_new(struct arena *a)
{
    struct megatron_args *args = arena_alloc(a, 1, sizeof *args);
    if (args) {
        args->f.arena = a;
        args->f.where = "";
    }
    return args;
}

/* ---- taking flags ---- */

/* A value may begin with a dash when it is a negative number. */
static bool is_flag(const char *word)
{
    return text_starts(word, "--") && word[2] != '\0';
}

static enum err take_words(struct megatron_args *args, enum flag_id id,
                           char *const *argv, int argc, int *i)
{
    char *all = arena_strdup(args->f.arena, "");
    while (all && *i + 1 < argc && !is_flag(argv[*i + 1])) {
        all = arena_printf(args->f.arena, "%s%s%s", all, *all ? " " : "",
                           argv[*i + 1]);
        ++*i;
    }
    args->f.text[id] = all;
    return all ? ERR_OK : ERR_NOMEM;
}

enum err megatron_args_take(struct megatron_args *args, char *const *argv,
                            int argc, int *i, bool *known, struct err_msg *msg)
{
    *known = false;
    const char *word = argv[*i];
    if (!is_flag(word))
        return ERR_OK;
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word + 2);
    enum flag_id id = flag_by_name(word + 2, len);
    if (id == NO_FLAG)
        return ERR_OK;
    *known = true;
    enum err e = ERR_OK;
    if (flag_type(id) == BOOL) {
        if (equals)
            return err_set(msg, ERR_PARSE, "--%s: takes no value",
                           flag_name(id));
        args->f.text[id] = "true";
    } else if (equals) {
        e = flags_set(&args->f, id, equals + 1, msg);
    } else if (flag_type(id) == WORDS) {
        e = take_words(args, id, argv, argc, i);
    } else {
        if (*i + 1 >= argc || is_flag(argv[*i + 1]))
            return err_set(msg, ERR_PARSE, "--%s: value missing",
                           flag_name(id));
        e = flags_set(&args->f, id, argv[++*i], msg);
    }
    if (e == ERR_OK)
        ++*i;
    return e;
}

static enum err unknown(const char *word, char *text, size_t size,
                        struct err_msg *msg)
{
    const char *near = is_flag(word) ? flag_nearest(word + 2) : NULL;
    if (near)
        snprintf(text, size, "unknown flag '%s', did you mean '--%s'?", word,
                 near);
    else if (is_flag(word))
        snprintf(text, size, "unknown flag '%s'", word);
    else
        snprintf(text, size, "'%s' is not a flag, want --name", word);
    return err_set(msg, ERR_PARSE, "%s", text);
}

enum err megatron_args_read(struct megatron_args *args, char *const *argv,
                            int argc, const struct megatron_args_options *opt,
                            struct err_msg *msg)
{
    for (int i = 0; i < argc;) {
        bool known = false;
        enum err e = megatron_args_take(args, argv, argc, &i, &known, msg);
        if (e != ERR_OK)
            return e;
        if (known)
            continue;
        char line[256];
        e = unknown(argv[i], line, sizeof line, msg);
        if (opt->strict)
            return e;
        if (opt->warn)
            opt->warn(opt->data, line);
        // its values, if any, go with it
        for (i++; i < argc && !is_flag(argv[i]); i++)
            ;
    }
    return ERR_OK;
}

/* ---- model files ---- */

static enum err key_error(const struct megatron_args *args, const char *key,
                          const char *wanted, struct err_msg *msg)
{
    return err_set(msg, ERR_PARSE, "%s: %s: want %s", args->f.where, key,
                   wanted);
}

/* Text of a JSON value as a flag would carry it; NULL when it cannot. */
static const char *json_value_text(struct arena *a, const cJSON *item)
{
    if (cJSON_IsString(item))
        return item->valuestring;
    if (cJSON_IsNumber(item))
        return arena_printf(a, "%.17g", item->valuedouble);
    if (!cJSON_IsArray(item))
        return NULL;
    char *text = arena_strdup(a, "[");
    const cJSON *c;
    cJSON_ArrayForEach(c, item)
    {
        if (!cJSON_IsNumber(c))
            return NULL;
        text = arena_printf(a, "%s%s%.17g", text,
                            c->prev && c != item->child ? "," : "",
                            c->valuedouble);
    }
    return arena_printf(a, "%s]", text);
}

static enum err take_key(struct megatron_args *args, const cJSON *item,
                         struct err_msg *msg)
{
    char *name = arena_strdup(args->f.arena, item->string);
    if (!name)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", args->f.where);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    enum flag_id id =
        strchr(item->string, '-') ? NO_FLAG : flag_by_name(name, strlen(name));
    if (id == NO_FLAG) {
        const char *near = flag_nearest(name);
        return err_set(msg, ERR_PARSE, "%s: unknown key '%s'%s%s%s",
                       args->f.where, item->string,
                       near ? ", did you mean '" : "", near ? near : "",
                       near ? "' with underscores?" : "");
    }
    if (cJSON_IsNull(item) || cJSON_IsFalse(item)) {
        args->f.text[id] = NULL;
        return ERR_OK;
    }
    if (flag_type(id) == BOOL) {
        if (!cJSON_IsTrue(item))
            return key_error(args, item->string, "true or false", msg);
        args->f.text[id] = "true";
        return ERR_OK;
    }
    const char *text = json_value_text(args->f.arena, item);
    if (!text || (cJSON_IsString(item) && flag_type(id) < TEXT))
        return key_error(args, item->string,
                         flag_type(id) == INT ? "an integer" : "a value", msg);
    return flags_set(&args->f, id, text, msg);
}

enum err megatron_args_read_file(struct arena *a, struct megatron_args *args,
                                 const char *path, struct err_msg *msg)
{
    cJSON *tree = NULL;
    enum err e = json_read_file(a, path, "moe-layout/model/1", &tree, msg);
    if (e != ERR_OK)
        return e;
    e = megatron_args_read_json(args, tree, path, msg);
    cJSON_Delete(tree);
    return e;
}

enum err megatron_args_read_json(struct megatron_args *args,
                                 const cJSON *object, const char *where,
                                 struct err_msg *msg)
{
    args->f.where = arena_strdup(args->f.arena, where);
    if (!args->f.where)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    for (const cJSON *c = object->child; c; c = c->next) {
        // two keys are for people: the format and a remark with the source
        if (strcmp(c->string, "format") == 0 ||
            strcmp(c->string, "comment") == 0)
            continue;
        enum err e = take_key(args, c, msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* ---- values ---- */

bool megatron_args_given(const struct megatron_args *args, const char *name)
{
    enum flag_id id = flag_by_name(name, strlen(name));
    return id != NO_FLAG && flags_given(&args->f, id);
}

const char *megatron_args_string(const struct megatron_args *args,
                                 const char *name)
{
    enum flag_id id = flag_by_name(name, strlen(name));
    return id == NO_FLAG ? NULL : flags_text(&args->f, id);
}

void megatron_args_override(struct megatron_args *args,
                            const struct model_overrides *o)
{
    const struct {
        enum flag_id id;
        int64_t value;
    } all[] = {
        {TP, o->tp},
        {PP, o->pp},
        {VPP, o->vpp},
        {EP, o->ep},
        {ETP, o->etp},
        {CP, o->cp},
        {WORLD_SIZE, o->world},
        {MICRO_BATCH_SIZE, o->micro_batch},
        {GLOBAL_BATCH_SIZE, o->global_batch},
        {SEQ_LENGTH, o->seq_tokens},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].value)
            args->f.text[all[i].id] =
                arena_printf(args->f.arena, "%lld", (long long)all[i].value);
}

/* ---- the model ---- */

static int64_t round_up(int64_t v, int64_t multiple)
{
    return (v + multiple - 1) / multiple * multiple;
}

/* Core 0.16's NullTokenizer adds one token (end of document) to --vocab-size;
 * then the table is padded to a multiple of divisor x TP. */
static void set_vocab(const struct megatron_flags *f, struct model *m)
{
    m->vocab = flags_number(f, VOCAB_SIZE, 0);
    int64_t tokens = m->vocab + flags_is(f, TOKENIZER_TYPE, "NullTokenizer");
    int64_t multiple = flags_number(f, MAKE_VOCAB_DIVISIBLE, 128) * m->par.tp;
    m->padded_vocab =
        flags_number(f, PADDED_VOCAB_SIZE, round_up(tokens, multiple));
    if (!m->vocab)
        m->vocab = m->padded_vocab;
}

static enum err set_attention(const struct megatron_flags *f, struct model *m,
                              struct err_msg *msg)
{
    m->n_heads = flags_number(f, NUM_ATTENTION_HEADS, 1);
    if (!flags_given(f, KV_CHANNELS) && m->hidden % m->n_heads)
        return err_set(msg, ERR_RANGE,
                       "--hidden-size %lld is not a multiple of "
                       "--num-attention-heads %lld: give --kv-channels",
                       (long long)m->hidden, (long long)m->n_heads);
    m->head_dim = flags_number(f, KV_CHANNELS, m->hidden / m->n_heads);
    m->n_kv_heads = flags_given(f, GROUP_QUERY_ATTENTION)
                        ? flags_number(f, NUM_QUERY_GROUPS, 1)
                        : m->n_heads;
    if (m->n_heads % m->n_kv_heads)
        return err_set(msg, ERR_RANGE,
                       "--num-query-groups: got %lld, want a divisor of "
                       "--num-attention-heads %lld",
                       (long long)m->n_kv_heads, (long long)m->n_heads);
    m->qkv_bias = flags_given(f, ADD_QKV_BIAS);
    m->qk_norm = flags_given(f, QK_LAYERNORM);
    m->learned_positions =
        !flags_given(f, USE_ROTARY) &&
        flags_is(f, POSITION_EMBEDDING_TYPE, "learned_absolute");
    m->max_positions = flags_number(f, MAX_POSITION_EMBEDDINGS,
                                    flags_number(f, SEQ_LENGTH, 0));
    return ERR_OK;
}

/* Megatron's default width of the MLP: 4h, or 8/3 h rounded down to a multiple
 * of 64 when it is gated. */
static int64_t default_ffn(const struct model *m)
{
    return m->gated ? m->hidden * 4 * 2 / 3 / 64 * 64 : m->hidden * 4;
}

static enum err set_experts(struct arena *a, const struct megatron_flags *f,
                            struct model *m, struct err_msg *msg)
{
    m->n_experts = flags_number(f, NUM_EXPERTS, 0);
    m->moe_ffn = flags_number(f, MOE_FFN_HIDDEN_SIZE, m->ffn);
    m->topk = m->n_experts ? flags_number(f, MOE_ROUTER_TOPK, 2) : 0;
    m->shared_ffn = m->n_experts ? flags_number(f, MOE_SHARED_EXPERT, 0) : 0;
    if (m->topk > m->n_experts)
        return err_set(msg, ERR_RANGE,
                       "--moe-router-topk: got %lld, want at most "
                       "--num-experts %lld",
                       (long long)m->topk, (long long)m->n_experts);
    uint8_t *moe = arena_alloc(a, (size_t)m->n_layers, 1);
    if (!moe)
        return err_set(msg, ERR_NOMEM, "model: out of memory");
    m->layer_moe = moe;
    if (!m->n_experts)
        return ERR_OK;
    return layer_freq_expand(flags_text(f, MOE_LAYER_FREQ), m->n_layers, moe,
                             msg);
}

static enum err set_parallel(const struct megatron_flags *f, struct model *m,
                             struct err_msg *msg)
{
    struct parallel *p = &m->par;
    p->tp = (int)flags_number(f, TP, 1);
    p->pp = (int)flags_number(f, PP, 1);
    p->cp = (int)flags_number(f, CP, 1);
    p->ep = (int)flags_number(f, EP, 1);
    p->etp = (int)flags_number(f, ETP, p->tp);
    p->vpp = (int)flags_number(f, VPP, 1);
    int64_t one = (int64_t)p->tp * p->cp * p->pp;
    int64_t world = flags_number(f, WORLD_SIZE, one);
    if (world % one)
        return err_set(msg, ERR_RANGE,
                       "--world-size: got %lld, want a multiple of TP x CP x "
                       "PP = %lld",
                       (long long)world, (long long)one);
    p->world = (int)world;
    p->dp = (int)(world / one);
    int64_t expert_group = (int64_t)p->ep * p->etp * p->pp;
    if (world % expert_group)
        return err_set(msg, ERR_RANGE,
                       "--expert-model-parallel-size %d: EP x ETP x PP = %lld "
                       "does not divide the world size %lld",
                       p->ep, (long long)expert_group, (long long)world);
    return ERR_OK;
}

static enum err set_batch(const struct megatron_flags *f, struct model *m,
                          struct err_msg *msg)
{
    struct batch *b = &m->batch;
    b->micro_batch = flags_number(f, MICRO_BATCH_SIZE, 1);
    b->seq_tokens = flags_number(f, SEQ_LENGTH, 1);
    int64_t one = b->micro_batch * m->par.dp;
    b->global_batch = flags_number(f, GLOBAL_BATCH_SIZE, one);
    if (b->global_batch % one)
        return err_set(msg, ERR_RANGE,
                       "--global-batch-size: got %lld, want a multiple of "
                       "micro-batch %lld x data-parallel size %d",
                       (long long)b->global_batch, (long long)b->micro_batch,
                       m->par.dp);
    b->n_microbatches = b->global_batch / one;
    return ERR_OK;
}

enum err megatron_args_model(struct arena *a, const struct megatron_args *args,
                             struct model *out, struct err_msg *msg)
{
    const struct megatron_flags *f = &args->f;
    enum err e = flags_check_ranges(f, msg);
    if (e != ERR_OK)
        return e;
    struct model m = {.n_layers = (int)flags_number(f, NUM_LAYERS, 1),
                      .n_mtp = (int)flags_number(f, MTP_NUM_LAYERS, 0),
                      .hidden = flags_number(f, HIDDEN_SIZE, 1),
                      .gated = flags_given(f, SWIGLU),
                      .tied = !flags_given(f, UNTIE),
                      .layernorm = flags_is(f, NORMALIZATION, "LayerNorm"),
                      .linear_bias = !flags_given(f, DISABLE_BIAS_LINEAR)};
    m.ffn = flags_number(f, FFN_HIDDEN_SIZE, default_ffn(&m));
    e = set_attention(f, &m, msg);
    if (e == ERR_OK)
        e = set_experts(a, f, &m, msg);
    if (e == ERR_OK)
        e = set_parallel(f, &m, msg);
    if (e == ERR_OK)
        e = set_batch(f, &m, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", *f->where ? f->where : "model");
    set_vocab(f, &m);
    if (!m.padded_vocab)
        return err_set(msg, ERR_PARSE, "%s: --vocab-size: missing",
                       *f->where ? f->where : "model");
    *out = m;
    return ERR_OK;
}
