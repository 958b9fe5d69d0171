/*
 * How it works: every flag that moe-train takes has a row in one table; a flag
 * without a row is an error, also when Megatron has it, so that nothing is
 * silently ignored. Rows of model, parallelism and batch name a flag of
 * megatron/flags.h, which reads them and keeps their values.
 */
#include "args.h"

#include "base/options.h"
#include "base/text.h"
#include "log/runlog.h"

#include <string.h>

enum train_type {
    TRAIN_TYPE_MODEL, // a flag of megatron/flags.h
    TRAIN_TYPE_INT,
    TRAIN_TYPE_REAL,
    TRAIN_TYPE_ONLY,
    TRAIN_TYPE_TEXT,
    TRAIN_TYPE_SWITCH
};

static const struct train_row {
    enum flag_id flag;   // of TRAIN_TYPE_MODEL, else FLAG_NONE
    enum train_flag own; // of the other types
    const char *name;    // NULL: the flag's
    enum train_type type;
    const char *standard; // default, or the only value
    double lo, hi;
    const char *help;
} table[] = {
#define TRAIN_MODEL_ROW(flag, help)                                            \
    {flag, N_TRAIN_FLAGS, NULL, TRAIN_TYPE_MODEL, NULL, 0, 0, help},
#define TRAIN_OWN_ROW(id, name, type, standard, lo, hi, help)                  \
    {FLAG_NONE, id, name, TRAIN_TYPE_##type, standard, lo, hi, help},
    TRAIN_FLAG_TABLE(TRAIN_MODEL_ROW, TRAIN_OWN_ROW)
#undef TRAIN_MODEL_ROW
#undef TRAIN_OWN_ROW
};
enum { TRAIN_ARGS_N_ROWS = sizeof table / sizeof table[0] };

static const char *row_name(const struct train_row *row)
{
    return row->name ? row->name : flag_name(row->flag);
}

/* What a value of each kind is called where it is missing; "" of a switch. */
static const char *const value_names[] = {
    [TRAIN_TYPE_MODEL] = "a value", [TRAIN_TYPE_INT] = "an integer",
    [TRAIN_TYPE_REAL] = "a number", [TRAIN_TYPE_ONLY] = "its only value",
    [TRAIN_TYPE_TEXT] = "a text",   [TRAIN_TYPE_SWITCH] = ""};

/* ---- reading ---- */

/* The table as rows of options; NULL when out of memory. */
static const struct option_row *train_args_rows(struct arena *a)
{
    struct option_row *rows = arena_alloc(a, TRAIN_ARGS_N_ROWS, sizeof *rows);
    for (int i = 0; rows && i < TRAIN_ARGS_N_ROWS; i++) {
        const struct train_row *row = &table[i];
        const char *name = arena_printf(a, "--%s", row_name(row));
        bool help = row->type != TRAIN_TYPE_MODEL && row->own == TRAIN_HELP;
        rows[i] = (struct option_row){.name = name,
                                      .alias = help ? "-h" : NULL,
                                      .value = value_names[row->type],
                                      .help = row->help};
        if (!name)
            rows = NULL;
    }
    return rows;
}

static enum err read_number(const struct train_row *row, const char *text,
                            struct train_value *out, struct err_msg *msg)
{
    const bool whole = row->type == TRAIN_TYPE_INT;
    bool ok = whole ? text_to_int64(text, &out->whole)
                    : text_to_double(text, &out->real);
    double value = whole ? (double)out->whole : out->real;
    if (ok && value >= row->lo && value <= row->hi)
        return ERR_OK;
    return err_set(msg, ok ? ERR_RANGE : ERR_PARSE,
                   "--%s: got '%s', want %s from %g to %g", row->name, text,
                   whole ? "an integer" : "a number", row->lo, row->hi);
}

/* Flags of Megatron that this trainer has one way of are taken with that value
 * alone, so that a script's line runs here or is refused. */
static enum err read_own(struct train_args *t, const struct train_row *row,
                         const char *text, struct err_msg *msg)
{
    struct train_value *out = &t->own[row->own];
    out->text = text;
    if (row->type == TRAIN_TYPE_INT || row->type == TRAIN_TYPE_REAL)
        return read_number(row, text, out, msg);
    if (row->type == TRAIN_TYPE_ONLY && strcmp(text, row->standard) != 0)
        return err_set(msg, ERR_RANGE, "--%s: got '%s', want %s", row->name,
                       text, row->standard);
    return ERR_OK;
}

static enum err read_defaults(struct train_args *t, struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < TRAIN_ARGS_N_ROWS && e == ERR_OK; i++)
        if (table[i].standard)
            e = read_own(t, &table[i], table[i].standard, msg);
    return e;
}

/* The flag at line->at, and its value where it is this program's own. */
static enum err train_args_take(struct train_args *t,
                                const struct option_spec *spec,
                                struct option_line *line, struct err_msg *msg)
{
    struct option_use use;
    bool known = true;
    int row = options_find(spec, line->argv[line->at]);
    if (row >= 0 && table[row].type == TRAIN_TYPE_MODEL)
        return megatron_args_take(t->megatron, line, &known, msg);
    enum err e = options_take(spec, line, &use, msg);
    if (e != ERR_OK)
        return e;
    bool is_switch = table[use.id].type == TRAIN_TYPE_SWITCH;
    return read_own(t, &table[use.id], is_switch ? "true" : use.text, msg);
}

static enum err train_args_take_all(struct arena *a, struct train_args *t,
                                    struct option_line line,
                                    struct err_msg *msg)
{
    const struct option_spec spec = {.program = "moe-train",
                                     .rows = train_args_rows(a),
                                     .n_rows = TRAIN_ARGS_N_ROWS};
    enum err e = spec.rows ? read_defaults(t, msg)
                           : err_set(msg, ERR_NOMEM, "flags: out of memory");
    while (e == ERR_OK && line.at < line.argc) {
        if (line.argv[line.at][0] != '-')
            return err_set(msg, ERR_PARSE,
                           "'%s' is not a flag, want --name value; see "
                           "moe-train --help",
                           line.argv[line.at]);
        e = train_args_take(t, &spec, &line, msg);
    }
    return e;
}

/* ---- checks ---- */

/* Before the model is read: its message would be of a size that nobody gave. */
static enum err check_ranks(const struct train_args *t, int world,
                            struct err_msg *msg)
{
    int64_t pp = flags_int(megatron_args_flags(t->megatron), FLAG_PP, 1);
    if (pp > 0 && world % pp)
        return err_set(msg, ERR_RANGE,
                       "ranks: got %d, want a multiple of "
                       "--pipeline-model-parallel-size %lld, start that many",
                       world, (long long)pp);
    return ERR_OK;
}

/* Pipeline and replicas are all that this trainer splits by. */
static enum err check_parallel(const struct model *m, struct err_msg *msg)
{
    const struct {
        enum flag_id flag;
        int value;
    } one[] = {{FLAG_TP, m->par.tp},
               {FLAG_CP, m->par.cp},
               {FLAG_EP, m->par.ep},
               {FLAG_ETP, m->par.etp}};
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        if (one[i].value != 1)
            return err_set(msg, ERR_RANGE, "--%s: got %d, moe-train wants 1",
                           flag_name(one[i].flag), one[i].value);
    return ERR_OK;
}

/* What Megatron asks of a router, and what of its kinds of balancing is here.
 */
static enum err check_router(const struct train_args *t, const struct model *m,
                             struct err_msg *msg)
{
    const char *kind = train_args_text(t, TRAIN_BALANCING);
    if (strcmp(kind, "aux_loss") != 0 && strcmp(kind, "none") != 0)
        return err_set(msg, ERR_RANGE,
                       "--moe-router-load-balancing-type: got '%s', moe-train "
                       "wants aux_loss or none",
                       kind);
    if (m->n_experts && m->topk == 1)
        return err_set(msg, ERR_RANGE,
                       "--moe-router-topk: got 1, want 2 or more: a softmax "
                       "over one expert is 1 and gives the router no gradient; "
                       "Megatron asks for --moe-router-pre-softmax then, which "
                       "moe-train does not have");
    return ERR_OK;
}

/* Layers of kinds that are not here; asked before the model is read, which
 * wants their sizes. Letters that are no symbol are for the reader. */
static enum err check_symbols(const struct train_args *t, struct err_msg *msg)
{
    const enum flag_id id = FLAG_HYBRID_LAYER_PATTERN;
    const char *text = flags_text(megatron_args_flags(t->megatron), id);
    const char *bad = text ? strpbrk(text, "MG+D") : NULL;
    if (!bad)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "--%s: got symbol '%c' (%s), moe-train has attention *, MLP "
                   "- and experts E",
                   flag_name(id), *bad, kind_name(kind_of_symbol(*bad)));
}

/* An MTP part has as much as there is in a layer. */
static enum err check_pattern(const struct model *m, struct err_msg *msg)
{
    const char *mtp = m->mtp_symbols ? m->mtp_symbols : "";
    if (strlen(mtp) > 2 || (strlen(mtp) == 2 && (*mtp != '*' || mtp[1] == '*')))
        return err_set(msg, ERR_RANGE,
                       "--%s: MTP part '/%s': moe-train wants one layer or "
                       "half of it: /*E, /*-, /*, /E or /-",
                       flag_name(FLAG_HYBRID_LAYER_PATTERN), mtp);
    return ERR_OK;
}

/* Megatron's defaults are not ours: what is built here has to be asked for by
 * name. */
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
        {m->attn_gate || m->layer_lean || m->indexer.heads,
         "--attention-output-gate, --experimental-attention-variant: moe-train "
         "has plain attention only"},
        {m->learned_positions, "--position-embedding-type: want rope, give it"},
        {!flags_given(megatron_args_flags(t->megatron), FLAG_SEQ_LENGTH),
         "--seq-length: missing"},
        {m->vocab < 2, "--vocab-size: missing or below 2"},
        {m->n_mtp > RUNLOG_MAX_MTP, "--mtp-num-layers: want at most 8"},
    };
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++)
        if (rule[i].bad)
            return err_set(msg, ERR_RANGE, "%s", rule[i].text);
    enum err e = check_router(t, m, msg);
    if (e == ERR_OK)
        e = check_pattern(m, msg);
    return e == ERR_OK ? check_parallel(m, msg) : e;
}

/* ---- all ---- */

/* The world is known from MPI alone, and becomes a flag as any other before the
 * model is made of them. */
enum err train_args_read(struct arena *a, struct option_line line, int world,
                         struct train_args *out, struct err_msg *msg)
{
    struct train_args t = {.megatron = megatron_args_new(a)};
    if (!t.megatron)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    enum err e = train_args_take_all(a, &t, line, msg);
    t.help = train_args_text(&t, TRAIN_HELP) != NULL;
    if (e == ERR_OK && !t.help)
        e = check_ranks(&t, world, msg);
    if (e == ERR_OK && !t.help)
        e = check_symbols(&t, msg);
    if (e == ERR_OK && !t.help) {
        flags_set_int(megatron_args_flags(t.megatron), FLAG_WORLD_SIZE, world);
        e = megatron_args_model(a, t.megatron, &t.model, msg);
        if (e == ERR_OK)
            e = train_args_check_model(&t, &t.model, msg);
        if (e == ERR_OK)
            e = split_read(a, megatron_args_flags(t.megatron), &t.model,
                           &t.split, msg);
    }
    if (e == ERR_OK)
        *out = t;
    return e;
}

/* ---- values ---- */

const char *train_args_text(const struct train_args *t, enum train_flag flag)
{
    return t->own[flag].text;
}

int64_t train_args_int(const struct train_args *t, enum train_flag flag)
{
    return t->own[flag].whole;
}

double train_args_real(const struct train_args *t, enum train_flag flag)
{
    return t->own[flag].real;
}

double train_args_balance(const struct train_args *t)
{
    bool on = strcmp(train_args_text(t, TRAIN_BALANCING), "aux_loss") == 0;
    return on && t->model.n_experts ? train_args_real(t, TRAIN_AUX_LOSS_COEFF)
                                    : 0;
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
    for (int i = 0; i < TRAIN_ARGS_N_ROWS; i++) {
        const struct train_row *row = &table[i];
        fprintf(out, "  --%-38s %s", row_name(row), row->help);
        if (row->standard)
            fprintf(out, "%s[%s%s]", *row->help ? " " : "",
                    row->type == TRAIN_TYPE_ONLY ? "only " : "", row->standard);
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
    if (all || !m->n_experts || model_is_hybrid(m))
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

/* By the names and in the form of Megatron's own dump, so that one reader takes
 * both. */
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
    const bool interleaved = m->par.vpp > 1;
    const struct dump_row row[] = {
        {"context_parallel_size", train_args_number(a, m->par.cp)},
        {"data_parallel_size", train_args_number(a, m->par.dp)},
        {"expert_model_parallel_size", train_args_number(a, m->par.ep)},
        {"expert_tensor_parallel_size", train_args_number(a, m->par.etp)},
        {"global_batch_size", train_args_number(a, m->batch.global_batch)},
        {"micro_batch_size", train_args_number(a, m->batch.micro_batch)},
        {"microbatch_group_size_per_vp_stage",
         count_or_none(a, interleaved ? t->split.order.group : 0)},
        {"overlap_moe_expert_parallel_comm",
         train_args_yes(t->split.order.ep_overlap)},
        {"overlap_p2p_comm",
         train_args_yes(interleaved && t->split.p2p != P2P_BLOCKING)},
        {"overlap_p2p_comm_warmup_flush",
         train_args_yes(t->split.p2p == P2P_OVERLAP_FLUSH)},
        {"hybrid_layer_pattern",
         model_is_hybrid(m) ? t->split.layout_text : "None"},
        {"pipeline_model_parallel_layout",
         model_is_hybrid(m) ? "None" : t->split.layout_text},
        {"pipeline_model_parallel_size", train_args_number(a, m->par.pp)},
        {"seq_length", train_args_number(a, m->batch.seq_tokens)},
        {"tensor_model_parallel_size", train_args_number(a, m->par.tp)},
        {"virtual_pipeline_model_parallel_size",
         count_or_none(a, interleaved ? m->par.vpp : 0)},
        {"world_size", train_args_number(a, m->par.world)},
    };
    return dump_rows(row, sizeof row / sizeof row[0], out);
}

/* Flags of this program's own table, as given or by default. */
static enum err dump_own(struct arena *a, const struct train_args *t, FILE *out)
{
    for (int i = 0; i < TRAIN_ARGS_N_ROWS; i++) {
        const struct train_row *row = &table[i];
        if (row->type == TRAIN_TYPE_MODEL || row->type == TRAIN_TYPE_SWITCH)
            continue;
        const char *text = t->own[row->own].text;
        if (row->own == TRAIN_CLOCK)
            text = t->clock;
        char *name = arena_strdup(a, row->name);
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
