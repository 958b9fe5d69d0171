/*
 * How it works: every flag that moe-train takes has a row in one table; a flag
 * without a row is an error, also when Megatron has it, so that nothing is
 * silently ignored. Model, parallelism and batch go on to megatron_args.
 */
#include "args.h"

#include "base/text.h"
#include "log/runlog.h"

#include <string.h>

enum flag_kind {
    MODEL_FLAG, // read by megatron_args
    WHOLE,      // integer from lo to hi
    NUMBER,     // number from lo to hi
    ONLY,       // the one value that moe-train does
    WORD,       // any text
    SWITCH      // no value
};

struct train_flag {
    const char *name;
    enum flag_kind kind;
    const char *standard; // default, or the only value
    double lo, hi;
    const char *help;
};

static const struct train_flag table[] = {
    {"num-layers", MODEL_FLAG, NULL, 0, 0, "decoder layers"},
    {"hidden-size", MODEL_FLAG, NULL, 0, 0, "width of hidden states"},
    {"ffn-hidden-size", MODEL_FLAG, NULL, 0, 0, "width of a dense layer's MLP"},
    {"num-attention-heads", MODEL_FLAG, NULL, 0, 0, "query heads"},
    {"group-query-attention", MODEL_FLAG, NULL, 0, 0, "share key/value heads"},
    {"num-query-groups", MODEL_FLAG, NULL, 0, 0, "key/value heads"},
    {"kv-channels", MODEL_FLAG, NULL, 0, 0, "width of a head"},
    {"max-position-embeddings", MODEL_FLAG, NULL, 0, 0, "taken, no effect"},
    {"position-embedding-type", MODEL_FLAG, NULL, 0, 0, "rope (required)"},
    {"normalization", MODEL_FLAG, NULL, 0, 0, "RMSNorm (required)"},
    {"swiglu", MODEL_FLAG, NULL, 0, 0, "gated MLP (required)"},
    {"disable-bias-linear", MODEL_FLAG, NULL, 0, 0, "no biases (required)"},
    {"untie-embeddings-and-output-weights", MODEL_FLAG, NULL, 0, 0,
     "an output layer of its own"},
    {"vocab-size", MODEL_FLAG, NULL, 0, 0, "tokens in the vocabulary"},
    {"padded-vocab-size", MODEL_FLAG, NULL, 0, 0, "rows of the embedding"},
    {"make-vocab-size-divisible-by", MODEL_FLAG, NULL, 0, 0,
     "padding of the vocabulary (128)"},
    {"num-experts", MODEL_FLAG, NULL, 0, 0, "experts a layer, absent: dense"},
    {"moe-ffn-hidden-size", MODEL_FLAG, NULL, 0, 0, "width of an expert"},
    {"moe-router-topk", MODEL_FLAG, NULL, 0, 0, "experts a token (2)"},
    {"moe-shared-expert-intermediate-size", MODEL_FLAG, NULL, 0, 0,
     "width of the shared expert"},
    {"moe-layer-freq", MODEL_FLAG, NULL, 0, 0, "which layers have experts"},
    {"mtp-num-layers", MODEL_FLAG, NULL, 0, 0, "MTP layers"},
    {"mtp-loss-scaling-factor", NUMBER, "0.1", 0, 1e6,
     "weight of the mean MTP loss"},
    {"tensor-model-parallel-size", MODEL_FLAG, NULL, 0, 0, "1"},
    {"pipeline-model-parallel-size", MODEL_FLAG, NULL, 0, 0, "stages (1)"},
    {"context-parallel-size", MODEL_FLAG, NULL, 0, 0, "1"},
    {"expert-model-parallel-size", MODEL_FLAG, NULL, 0, 0, "1"},
    {"expert-tensor-parallel-size", MODEL_FLAG, NULL, 0, 0, "1"},
    {"num-virtual-stages-per-pipeline-rank", MODEL_FLAG, NULL, 0, 0, "1"},
    {"pipeline-model-parallel-layout", MODEL_FLAG, NULL, 0, 0,
     "units of each stage, such as 'Et*5|t*6|t*5|mL'"},
    {"micro-batch-size", MODEL_FLAG, NULL, 0, 0, "sequences (1)"},
    {"global-batch-size", MODEL_FLAG, NULL, 0, 0, "sequences of a step"},
    {"seq-length", MODEL_FLAG, NULL, 0, 0, "tokens of a sequence"},
    {"train-iters", WHOLE, "10", 1, 1e9, "steps"},
    {"lr", NUMBER, "1e-3", 0, 1e38, "learning rate"},
    {"min-lr", NUMBER, "0", 0, 1e30, "taken, no effect on a constant rate"},
    {"lr-decay-style", ONLY, "constant", 0, 0, ""},
    {"weight-decay", NUMBER, "0.01", 0, 1e6, "decoupled, norms excepted"},
    {"adam-beta1", NUMBER, "0.9", 0, 0.9999999, ""},
    {"adam-beta2", NUMBER, "0.999", 0, 0.9999999, ""},
    {"adam-eps", NUMBER, "1e-8", 1e-30, 1, ""},
    {"clip-grad", NUMBER, "1.0", 0, 1e30, "largest global norm, 0: none"},
    {"seed", WHOLE, "1234", 0, 9e15, "of weights and data"},
    {"mock-data", SWITCH, NULL, 0, 0, "data is always synthetic"},
    {"log-interval", WHOLE, "1", 1, 1, "steps between lines of the log"},
    {"timing-log-level", WHOLE, "0", 0, 2, "1, 2: with timers of each rank"},
    {"timing-log-option", ONLY, "all", 0, 0, ""},
    {"clock", WORD, NULL, 0, 0,
     "wall under MPI; cpu (default) or flops under smpirun"},
    {"reference-burst", WHOLE, "0", 0, 1000,
     "fixed products timed beside each step, on each rank"},
    {"record-ops", WORD, NULL, 0, 0, "CSV file for times of all operations"},
    {"help", SWITCH, NULL, 0, 0, "this text"},
};
enum { N_ROWS = sizeof table / sizeof table[0] };

static int find_row(const char *name, size_t len)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strlen(table[i].name) == len &&
            memcmp(table[i].name, name, len) == 0)
            return i;
    return -1;
}

/* ---- reading ---- */

static enum err train_args_refuse(const char *word, struct err_msg *msg)
{
    const char *names[N_ROWS];
    for (int i = 0; i < N_ROWS; i++)
        names[i] = table[i].name;
    if (!text_starts(word, "--"))
        return err_set(msg, ERR_PARSE,
                       "'%s' is not a flag, want --name value, see --help",
                       word);
    const char *near = text_nearest(word + 2, names, N_ROWS);
    return err_set(msg, ERR_PARSE,
                   "unknown flag '%s', want one that --help lists%s%s%s", word,
                   near ? ": did you mean '--" : "", near ? near : "",
                   near ? "'?" : "");
}

static enum err check_number(const struct train_flag *f, const char *text,
                             struct err_msg *msg)
{
    int64_t whole = 0;
    double value = 0;
    bool ok = f->kind == WHOLE ? text_to_int64(text, &whole)
                               : text_to_double(text, &value);
    if (f->kind == WHOLE)
        value = (double)whole;
    if (!ok || value < f->lo || value > f->hi)
        return err_set(msg, ok ? ERR_RANGE : ERR_PARSE,
                       "--%s: got '%s', want %s from %g to %g", f->name, text,
                       f->kind == WHOLE ? "an integer" : "a number", f->lo,
                       f->hi);
    return ERR_OK;
}

static enum err check_value(const struct train_flag *f, const char *text,
                            struct err_msg *msg)
{
    if (f->kind == WHOLE || f->kind == NUMBER)
        return check_number(f, text, msg);
    if (f->kind == ONLY && strcmp(text, f->standard) != 0)
        return err_set(msg, ERR_RANGE, "--%s: got '%s', want %s", f->name, text,
                       f->standard);
    return ERR_OK;
}

static enum err take_own(struct train_args *t, int row, char *const *argv,
                         int argc, int *i, struct err_msg *msg)
{
    const struct train_flag *f = &table[row];
    const char *equals = strchr(argv[*i], '=');
    const char *text = equals ? equals + 1 : NULL;
    if (f->kind == SWITCH) {
        if (equals)
            return err_set(msg, ERR_PARSE, "--%s: takes no value", f->name);
        text = "true";
    } else if (!equals) {
        if (*i + 1 >= argc || text_starts(argv[*i + 1], "--"))
            return err_set(msg, ERR_PARSE, "--%s: value missing", f->name);
        text = argv[++*i];
    }
    ++*i;
    t->text[row] = text;
    return check_value(f, text, msg);
}

static enum err train_args_take_all(struct train_args *t, int argc,
                                    char *const *argv, struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 1; e == ERR_OK && i < argc;) {
        const char *word = argv[i];
        bool known = text_starts(word, "--");
        int row = known ? find_row(word + 2, strcspn(word + 2, "=")) : -1;
        if (row < 0)
            return train_args_refuse(word, msg);
        if (table[row].kind == MODEL_FLAG)
            e = megatron_args_take(t->megatron, argv, argc, &i, &known, msg);
        else
            e = take_own(t, row, argv, argc, &i, msg);
    }
    return e;
}

/* ---- checks ---- */

static enum err check_ranks(const struct train_args *t, int world,
                            struct err_msg *msg)
{
    int64_t pp = 1;
    const char *text =
        megatron_args_string(t->megatron, "pipeline-model-parallel-size");
    if (text && text_to_int64(text, &pp) && pp > 0 && world % pp)
        return err_set(msg, ERR_RANGE,
                       "ranks: got %d, want a multiple of "
                       "--pipeline-model-parallel-size %lld, start that many",
                       world, (long long)pp);
    return ERR_OK;
}

static enum err check_parallel(const struct model *m, struct err_msg *msg)
{
    const struct {
        const char *flag;
        int value;
    } one[] = {{"tensor-model-parallel-size", m->par.tp},
               {"context-parallel-size", m->par.cp},
               {"expert-model-parallel-size", m->par.ep},
               {"expert-tensor-parallel-size", m->par.etp},
               {"num-virtual-stages-per-pipeline-rank", m->par.vpp}};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        if (one[i].value != 1)
            return err_set(msg, ERR_RANGE, "--%s: got %d, moe-train wants 1",
                           one[i].flag, one[i].value);
    return ERR_OK;
}

static enum err train_args_check_model(const struct train_args *t,
                                       const struct model *m,
                                       struct err_msg *msg)
{
    const struct {
        bool bad;
        const char *text;
    } rule[] = {
        {m->layernorm, "--normalization: want RMSNorm, give it"},
        {!m->gated, "--swiglu: missing, moe-train has gated MLPs only"},
        {m->linear_bias, "--disable-bias-linear: missing, moe-train has no "
                         "biases"},
        {m->learned_positions, "--position-embedding-type: want rope, give it"},
        {!megatron_args_given(t->megatron, "seq-length"),
         "--seq-length: missing"},
        {m->vocab < 2, "--vocab-size: missing or below 2"},
        {m->n_mtp > RUNLOG_MAX_MTP, "--mtp-num-layers: want at most 8"},
    };
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++)
        if (rule[i].bad)
            return err_set(msg, ERR_RANGE, "%s", rule[i].text);
    return check_parallel(m, msg);
}

/* Megatron's split without a layout: layers must divide, E first, m and L on
 * top of the last stage. */
static enum err default_layout(struct arena *a, const struct model *m,
                               const char **out, struct err_msg *msg)
{
    int each = m->n_layers / m->par.pp;
    if (m->n_layers % m->par.pp)
        return err_set(msg, ERR_RANGE,
                       "--num-layers: got %d, want a multiple of "
                       "--pipeline-model-parallel-size %d, or give "
                       "--pipeline-model-parallel-layout",
                       m->n_layers, m->par.pp);
    char *text = arena_printf(a, "E");
    for (int s = 0; text && s < m->par.pp; s++)
        text = arena_printf(a, "%s%st*%d", text, s ? "|" : "", each);
    for (int k = 0; text && k < m->n_mtp; k++)
        text = arena_printf(a, "%sm", text);
    *out = text ? arena_printf(a, "%sL", text) : NULL;
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "layout: out of memory");
}

static enum err train_args_read_layout(struct arena *a, struct train_args *t,
                                       struct err_msg *msg)
{
    enum err e = ERR_OK;
    t->layout_text =
        megatron_args_string(t->megatron, "pipeline-model-parallel-layout");
    if (!t->layout_text)
        e = default_layout(a, &t->model, &t->layout_text, msg);
    if (e == ERR_OK)
        e = layout_read(a, t->layout_text, &t->model, t->model.par.pp,
                        &t->layout, msg);
    if (e == ERR_OK && t->layout.vpp != 1)
        return err_set(msg, ERR_RANGE,
                       "--pipeline-model-parallel-layout: got %d stages, "
                       "moe-train wants one a rank, %d",
                       t->layout.n_stages, t->layout.pp);
    return e;
}

enum err train_args_read(struct arena *a, int argc, char *const *argv,
                         int world, struct train_args *out, struct err_msg *msg)
{
    struct train_args t = {.megatron = megatron_args_new(a),
                           .text = arena_alloc(a, N_ROWS, sizeof *t.text)};
    if (!t.megatron || !t.text)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    enum err e = train_args_take_all(&t, argc, argv, msg);
    t.help = train_args_text(&t, "help") != NULL;
    if (e == ERR_OK && !t.help)
        e = check_ranks(&t, world, msg);
    if (e == ERR_OK && !t.help) {
        megatron_args_override(t.megatron,
                               &(struct model_overrides){.world = world});
        e = megatron_args_model(a, t.megatron, &t.model, msg);
        if (e == ERR_OK)
            e = train_args_check_model(&t, &t.model, msg);
        if (e == ERR_OK)
            e = train_args_read_layout(a, &t, msg);
    }
    if (e == ERR_OK)
        *out = t;
    return e;
}

/* ---- values ---- */

const char *train_args_text(const struct train_args *t, const char *name)
{
    int row = find_row(name, strlen(name));
    if (table[row].kind == MODEL_FLAG)
        return megatron_args_string(t->megatron, name);
    return t->text[row] ? t->text[row] : table[row].standard;
}

int64_t train_args_int(const struct train_args *t, const char *name)
{
    int64_t value = 0;
    const char *text = train_args_text(t, name);
    return text && text_to_int64(text, &value) ? value : 0;
}

double train_args_real(const struct train_args *t, const char *name)
{
    double value = 0;
    const char *text = train_args_text(t, name);
    return text && text_to_double(text, &value) ? value : 0;
}

/* ---- printing ---- */

void train_args_print_usage(FILE *out)
{
    fprintf(out, "usage: mpirun -np RANKS moe-train --num-layers N "
                 "--hidden-size N --num-attention-heads N --seq-length N "
                 "--vocab-size N --normalization RMSNorm --swiglu "
                 "--disable-bias-linear --position-embedding-type rope "
                 "[flags]\n");
}

void train_args_print_help(FILE *out)
{
    train_args_print_usage(out);
    fprintf(out, "\nTrains a small MoE transformer with MTP on CPU cores, one "
                 "rank a pipeline stage.\n\nflags (as Megatron-LM names them, "
                 "defaults in brackets):\n");
    for (int i = 0; i < N_ROWS; i++) {
        const struct train_flag *f = &table[i];
        fprintf(out, "  --%-38s %s", f->name, f->help);
        if (f->standard)
            fprintf(out, "%s[%s%s]", *f->help ? " " : "",
                    f->kind == ONLY ? "only " : "", f->standard);
        fprintf(out, "\n");
    }
    fprintf(out,
            "\nexample:\n  mpirun -np 2 moe-train --num-layers 4 --hidden-size "
            "64 --num-attention-heads 4 \\\n      --seq-length 32 --vocab-size "
            "256 --normalization RMSNorm --swiglu \\\n      "
            "--disable-bias-linear --position-embedding-type rope "
            "--num-experts 4 \\\n      --moe-ffn-hidden-size 64 "
            "--mtp-num-layers 1 --global-batch-size 8 \\\n      "
            "--pipeline-model-parallel-size 2 "
            "--pipeline-model-parallel-layout 'Et*3|tmL'\n");
}

struct dump_row {
    const char *name, *text;
};

static const char *train_args_number(struct arena *a, int64_t value)
{
    return arena_printf(a, "%lld", (long long)value);
}

static const char *count_or_none(struct arena *a, int64_t value)
{
    return value ? train_args_number(a, value) : "None";
}

static const char *train_args_yes(bool value)
{
    return value ? "True" : "False";
}

/* 1 where all layers are alike, else the list of flags. */
static const char *layer_freq(struct arena *a, const struct model *m)
{
    bool all = true;
    char *text = arena_printf(a, "[");
    for (int i = 0; text && i < m->n_layers; i++) {
        all = all && m->layer_moe[i];
        text = arena_printf(a, "%s%s%d", text, i ? "," : "", m->layer_moe[i]);
    }
    if (all || !m->n_experts)
        return "1";
    return text ? arena_printf(a, "%s]", text) : NULL;
}

static enum err dump_rows(const struct dump_row *row, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!row[i].text)
            return ERR_NOMEM;
        runlog_print_argument(out, row[i].name, row[i].text);
    }
    return ERR_OK;
}

static enum err dump_model(struct arena *a, const struct model *m, FILE *out)
{
    const struct dump_row row[] = {
        {"add_bias_linear", train_args_yes(m->linear_bias)},
        {"add_qkv_bias", train_args_yes(m->qkv_bias)},
        {"ffn_hidden_size", train_args_number(a, m->ffn)},
        {"group_query_attention", train_args_yes(m->n_kv_heads != m->n_heads)},
        {"hidden_size", train_args_number(a, m->hidden)},
        {"kv_channels", train_args_number(a, m->head_dim)},
        {"moe_ffn_hidden_size",
         count_or_none(a, m->n_experts ? m->moe_ffn : 0)},
        {"moe_layer_freq", layer_freq(a, m)},
        {"moe_router_topk", train_args_number(a, m->n_experts ? m->topk : 2)},
        {"moe_shared_expert_intermediate_size",
         count_or_none(a, m->shared_ffn)},
        {"mtp_num_layers", count_or_none(a, m->n_mtp)},
        {"normalization", "RMSNorm"},
        {"num_attention_heads", train_args_number(a, m->n_heads)},
        {"num_experts", count_or_none(a, m->n_experts)},
        {"num_layers", train_args_number(a, m->n_layers)},
        {"num_query_groups", train_args_number(a, m->n_kv_heads)},
        {"padded_vocab_size", train_args_number(a, m->padded_vocab)},
        {"position_embedding_type", "rope"},
        {"qk_layernorm", train_args_yes(m->qk_norm)},
        {"swiglu", train_args_yes(m->gated)},
        {"untie_embeddings_and_output_weights", train_args_yes(!m->tied)},
        {"vocab_size", train_args_number(a, m->vocab)},
    };
    return dump_rows(row, sizeof row / sizeof row[0], out);
}

static enum err dump_split(struct arena *a, const struct train_args *t,
                           FILE *out)
{
    const struct model *m = &t->model;
    const struct dump_row row[] = {
        {"context_parallel_size", train_args_number(a, m->par.cp)},
        {"data_parallel_size", train_args_number(a, m->par.dp)},
        {"expert_model_parallel_size", train_args_number(a, m->par.ep)},
        {"expert_tensor_parallel_size", train_args_number(a, m->par.etp)},
        {"global_batch_size", train_args_number(a, m->batch.global_batch)},
        {"micro_batch_size", train_args_number(a, m->batch.micro_batch)},
        {"pipeline_model_parallel_layout", t->layout_text},
        {"pipeline_model_parallel_size", train_args_number(a, m->par.pp)},
        {"seq_length", train_args_number(a, m->batch.seq_tokens)},
        {"tensor_model_parallel_size", train_args_number(a, m->par.tp)},
        {"world_size", train_args_number(a, m->par.world)},
    };
    return dump_rows(row, sizeof row / sizeof row[0], out);
}

/* Flags of this program's own table, as given or by default. */
static enum err dump_own(struct arena *a, const struct train_args *t, FILE *out)
{
    for (int i = 0; i < N_ROWS; i++) {
        const struct train_flag *f = &table[i];
        const char *text = t->text[i] ? t->text[i] : f->standard;
        if (strcmp(f->name, "clock") == 0)
            text = t->clock;
        if (f->kind == MODEL_FLAG || f->kind == SWITCH)
            continue;
        char *name = arena_strdup(a, f->name);
        if (!name)
            return ERR_NOMEM;
        for (char *p = name; *p; p++)
            *p = *p == '-' ? '_' : *p;
        runlog_print_argument(out, name, text ? text : "None");
    }
    return ERR_OK;
}

enum err train_args_dump(struct arena *a, const struct train_args *t, FILE *out)
{
    runlog_print_arguments_begin(out);
    enum err e = dump_model(a, &t->model, out);
    if (e == ERR_OK)
        e = dump_split(a, t, out);
    if (e == ERR_OK)
        e = dump_own(a, t, out);
    runlog_print_arguments_end(out);
    return e;
}
