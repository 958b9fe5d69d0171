/*
 * How it works: a row's sizes go into the slots of Megatron's flags, over a
 * model file where the model is a known one, and the model comes from there;
 * kernels are set in the model itself. A row that cannot be priced is counted
 * with its reason, and the next one is read.
 */
#include "rows.h"

#include "base/csv.h"
#include "layout/default_split.h"
#include "megatron/args.h"
#include "megatron/overrides.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A row of a file while it is read. */
struct source_row {
    const struct csv *t;
    size_t at;
    const char *models;
};

/* "" for a column that the file lacks, as for an empty field. */
static const char *text_of(const struct source_row *r, const char *column)
{
    return csv_text(r->t, r->at, column);
}

static double number_of(const struct source_row *r, const char *column,
                        double other)
{
    double x = other;
    csv_get_double(r->t, r->at, column, &x);
    return x;
}

static int64_t size_of(const struct source_row *r, const char *column,
                       int64_t other)
{
    return (int64_t)llround(number_of(r, column, (double)other));
}

static bool is_text(const struct source_row *r, const char *column,
                    const char *text)
{
    return strcmp(text_of(r, column), text) == 0;
}

/* ---- the model ---- */

/* Names in such tables, by how they begin, and files of experiments/models. */
static const char *const known_models[][2] = {
    {"deepseekv3", "deepseek-v3.json"},
    {"llama31-405b", "llama-3.1-405b.json"},
};

/* By how the name begins: rows of one model have many suffixes. An empty text
 * for a model that is not known. */
static const char *known_file(struct arena *a, const struct source_row *r)
{
    for (size_t i = 0; i < COUNT(known_models); i++)
        if (strncmp(text_of(r, "model"), known_models[i][0],
                    strlen(known_models[i][0])) == 0)
            return arena_printf(a, "%s/%s", r->models, known_models[i][1]);
    return "";
}

/* Heads that are not stated are 128 wide, or the next wider that divides over
 * tensor ranks. */
static int64_t heads_of(const struct source_row *r, int64_t hidden)
{
    const int64_t tp = size_of(r, "tp", 1);
    int64_t n = hidden / 128;
    while (n > 1 && (hidden % n || n % tp))
        n--;
    return size_of(r, "heads", n);
}

/* A GPT as Megatron has it without further flags: LayerNorm, biases, learned
 * positions. */
static void set_gpt(const struct source_row *r, struct megatron_flags *f)
{
    const int64_t hidden = size_of(r, "hidden", 0);
    flags_set_int(f, FLAG_NUM_LAYERS, size_of(r, "n_layers", 0));
    flags_set_int(f, FLAG_HIDDEN_SIZE, hidden);
    flags_set_int(f, FLAG_NUM_ATTENTION_HEADS, heads_of(r, hidden));
    flags_set_int(f, FLAG_FFN_HIDDEN_SIZE, size_of(r, "ffn", 4 * hidden));
    flags_set_int(f, FLAG_MAX_POSITION_EMBEDDINGS, size_of(r, "seq", 0));
    flags_set_int(f, FLAG_VOCAB_SIZE, size_of(r, "vocab", 0));
}

/* The number of micro-batches is what ran: batches of some sources do not
 * divide. */
static struct overrides sizes_of(const struct source_row *r)
{
    struct overrides o = {.size = {[OVERRIDE_TP] = size_of(r, "tp", 1),
                                   [OVERRIDE_PP] = size_of(r, "pp", 1),
                                   [OVERRIDE_CP] = size_of(r, "cp", 1),
                                   [OVERRIDE_EP] = size_of(r, "ep", 1),
                                   [OVERRIDE_MBS] = size_of(r, "mbs", 1),
                                   [OVERRIDE_SEQ] = size_of(r, "seq", 0)}};
    const int64_t dp = size_of(r, "dp", 1), vpp = size_of(r, "vpp", 1);
    o.size[OVERRIDE_VPP] = vpp > 1 ? vpp : 0;
    if (size_of(r, "experts", 0) > 0)
        o.size[OVERRIDE_ETP] = 1;
    o.size[OVERRIDE_GBS] =
        size_of(r, "microbatches", 1) * size_of(r, "mbs", 1) * dp;
    o.size[OVERRIDE_WORLD] =
        o.size[OVERRIDE_TP] * o.size[OVERRIDE_PP] * o.size[OVERRIDE_CP] * dp;
    return o;
}

/* Kernels by generation, recompute and precision by the row. */
static void set_kernels(const struct source_row *r, const struct card *card,
                        struct model *m)
{
    const bool old = strcmp(card->name, "A100") == 0;
    struct memory_options *o = &m->memory;
    const bool full = is_text(r, "recompute", "full");
    const bool selective = is_text(r, "recompute", "selective");
    o->full_recompute = full ? RECOMPUTE_UNIFORM : RECOMPUTE_NONE;
    o->recompute = selective ? 1U << RECOMPUTE_CORE_ATTN : 0;
    o->unfused_attention = old;
    o->loss_fusion = !old;
    o->sequence_parallel = m->par.tp > 1 && (!old || selective);
    o->fp8 = strstr(text_of(r, "precision"), "fp8") != NULL;
    o->graphs = m->mla; // full-iteration graphs, says the source of these rows
    m->overlap_moe_comm = number_of(r, "overlap_ep", 0) > 0;
}

/* Sizes of the row win over those of a model file: runs had other sequences and
 * batches. */
static enum err make_model(struct arena *a, const struct source_row *r,
                           struct model *out, struct err_msg *msg)
{
    struct megatron_args *args = megatron_args_new(a);
    const char *file = known_file(a, r);
    if (!args || !file)
        return err_set(msg, ERR_NOMEM, "rows: out of memory");
    struct megatron_flags *f = megatron_args_flags(args);
    enum err e = *file ? megatron_args_read_file(a, args, file, msg) : ERR_OK;
    if (!*file)
        set_gpt(r, f);
    const struct overrides sizes = sizes_of(r);
    overrides_apply(&sizes, f);
    return e == ERR_OK ? megatron_args_model(a, args, out, msg) : e;
}

/* ---- rows ---- */

/* Rows that no model of a step is for; the reason, or NULL. */
static const char *uncovered(const struct source_row *r)
{
    static const char *const needed[] = {"hidden", "n_layers", "seq", "vocab",
                                         "microbatches"};
    for (size_t i = 0; i < COUNT(needed); i++)
        if (!*text_of(r, needed[i]))
            return "a size that is not stated";
    if (!is_text(r, "schedule", "1f1b") &&
        !is_text(r, "schedule", "interleaved"))
        return "a schedule that Megatron does not have";
    if (strstr(text_of(r, "precision"), "fp4"))
        return "products of FP4, whose rates the table of cards lacks";
    return NULL;
}

/* Rows that are context only have nothing to be held to. */
static bool is_wanted(const struct source_row *r)
{
    return number_of(r, "exclude", 0) <= 0 &&
           (*text_of(r, "use") || *text_of(r, "forward_s"));
}

/* As stated, else the even split that such runs had. */
static enum err read_layout(struct arena *a, const struct source_row *r,
                            const struct model *m, struct layout *out,
                            struct err_msg *msg)
{
    const char *text = text_of(r, "layout");
    return *text ? layout_read(a, text, m, out, msg)
                 : default_split_layout(a, m, m->par.pp, out, msg);
}

/* Everything that one constant of a configuration depends on. */
static const char *config_of(struct arena *a, const struct source_row *r)
{
    return arena_printf(a, "%s/%s/%s/%s/%s/%s/%s", text_of(r, "group"),
                        text_of(r, "tp"), text_of(r, "pp"), text_of(r, "vpp"),
                        text_of(r, "dp"), text_of(r, "mbs"),
                        text_of(r, "microbatches"));
}

/* ERR_RANGE or ERR_MODEL: the row is left out. */
static enum err make_row(struct arena *a, const struct source_row *r,
                         struct roofline_row *out, struct err_msg *msg)
{
    const char *why = uncovered(r);
    struct roofline_row x = {.id = text_of(r, "id"),
                             .source = text_of(r, "source"),
                             .config = config_of(a, r),
                             .meas_step_s = number_of(r, "step_s", NAN),
                             .meas_forward_s = number_of(r, "forward_s", NAN),
                             .fit = is_text(r, "use", "fit")};
    if (!x.config)
        return err_set(msg, ERR_NOMEM, "rows: out of memory");
    if (why)
        return err_set(msg, ERR_MODEL, "%s: %s", x.id, why);
    if (card_find(text_of(r, "gpu"), x.id, &x.card, msg) != ERR_OK)
        return ERR_MODEL;
    enum err e = make_model(a, r, &x.model, msg);
    if (e == ERR_OK)
        e = read_layout(a, r, &x.model, &x.layout, msg);
    if (e != ERR_OK)
        return e;
    set_kernels(r, x.card, &x.model);
    x.model.par.vpp = x.layout.vpp;
    *out = x;
    return ERR_OK;
}

static enum err check_columns(const struct csv *t, struct err_msg *msg)
{
    static const char *const needed[] = {"id",    "source", "group", "gpu",
                                         "model", "step_s", "use",   "exclude"};
    for (size_t i = 0; i < COUNT(needed) && t->n_rows > 0; i++)
        if (!csv_get(t, 0, needed[i]))
            return err_set(msg, ERR_PARSE, "%s: no column '%s'", t->where,
                           needed[i]);
    return ERR_OK;
}

/* A row that cannot be simulated is counted, and the first reason kept; one
 * that cannot be read is an error of the file. */
enum err rows_read(struct arena *a, const struct rows_file *file,
                   struct roofline_rows *to, struct rows_left *left,
                   struct err_msg *msg)
{
    struct csv t;
    enum err e = csv_read_file(a, file->path, &t, msg);
    if (e == ERR_OK)
        e = check_columns(&t, msg);
    if (e != ERR_OK)
        return e;
    struct roofline_row *all =
        arena_alloc(a, (size_t)to->n + t.n_rows + 1, sizeof *all);
    if (!all)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", file->path);
    if (to->n > 0)
        memcpy(all, to->row, (size_t)to->n * sizeof *all);
    *to = (struct roofline_rows){all, to->n};
    for (size_t i = 0; i < t.n_rows; i++) {
        const struct source_row r = {&t, i, file->models};
        if (!is_wanted(&r))
            continue;
        e = make_row(a, &r, &all[to->n], msg);
        to->n += e == ERR_OK;
        if (e == ERR_NOMEM || e == ERR_PARSE)
            return e;
        if (e != ERR_OK && left->n++ == 0)
            left->why = arena_strdup(a, msg->text);
    }
    return ERR_OK;
}
