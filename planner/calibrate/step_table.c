/*
 * How it works: a row fills the slots of Megatron's flags, these make a model,
 * and the model with its layout a simulator. What a row lacks or Megatron would
 * refuse is the row's own affair (`why`); what is no number is the file's.
 */
#include "step_table.h"

#include "base/csv.h"
#include "base/text.h"
#include "layout/default_split.h"
#include "megatron/model.h"
#include "pattern/depth.h"
#include "pattern/translate.h"
#include "plan/settings.h"

#include <math.h>
#include <string.h>

/* One row being read. `failed` is set once, with the message. */
struct table_row {
    struct arena *arena;
    const struct csv *csv;
    size_t at;
    const struct step_table_options *options;
    struct err_msg *msg;
    enum err err;
};

static const char *table_text(const struct table_row *r, const char *column)
{
    const char *text = csv_get(r->csv, r->at, column);
    return text ? text : "";
}

/* A whole number of a column; `other` where the field is empty. */
static int64_t table_whole(struct table_row *r, const char *column,
                           int64_t other)
{
    const char *text = table_text(r, column);
    int64_t value = other;
    if (*text && !text_to_int64(text, &value) && r->err == ERR_OK)
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: row %zu: %s: got '%s', want a whole number",
                         r->csv->where, r->at + 2, column, text);
    return value;
}

static double table_number(struct table_row *r, const char *column)
{
    const char *text = table_text(r, column);
    double value = (double)NAN;
    if (*text && !csv_get_double(r->csv, r->at, column, &value) &&
        r->err == ERR_OK)
        r->err = err_set(r->msg, ERR_PARSE,
                         "%s: row %zu: %s: got '%s', want a number",
                         r->csv->where, r->at + 2, column, text);
    return value;
}

static bool table_is(const struct table_row *r, const char *column,
                     const char *word)
{
    return strcmp(table_text(r, column), word) == 0;
}

/* ---- the model ---- */

struct table_flag {
    const char *column;
    enum flag_id flag;
};

/* Empty fields leave the flag as it is by default. */
static void set_numbers(struct table_row *r, const struct table_flag *list,
                        int n, struct megatron_flags *f)
{
    for (int i = 0; i < n; i++) {
        const int64_t value = table_whole(r, list[i].column, -1);
        if (value >= 0)
            flags_set_int(f, list[i].flag, value);
    }
}

/* What parts a gated MLP from a plain one in these columns: plain ones are
 * four times as wide as the model. */
static void set_kind(struct table_row *r, struct megatron_flags *f,
                     struct err_msg *msg)
{
    const int64_t hidden = table_whole(r, "hidden", 0);
    const int64_t ffn = table_whole(r, "ffn", 4 * hidden);
    const int64_t tp = table_whole(r, "tp", 1);
    if (!*table_text(r, "ffn"))
        flags_set_int(f, FLAG_FFN_HIDDEN_SIZE, 4 * hidden);
    if (!*table_text(r, "heads"))
        flags_set_int(f, FLAG_NUM_ATTENTION_HEADS, tp);
    if (*table_text(r, "query_groups"))
        flags_set_on(f, FLAG_GROUP_QUERY_ATTENTION);
    flags_set(f, FLAG_POSITION_EMBEDDING_TYPE, "rope", msg);
    flags_set_on(f, FLAG_UNTIE);
    if (ffn == 4 * hidden && !*table_text(r, "experts"))
        return;
    flags_set_on(f, FLAG_SWIGLU);
    flags_set_on(f, FLAG_DISABLE_BIAS_LINEAR);
    flags_set(f, FLAG_NORMALIZATION, "RMSNorm", msg);
}

static void set_recompute(const struct table_row *r, struct megatron_flags *f,
                          struct err_msg *msg)
{
    const bool full = table_is(r, "recompute", "full");
    if (!full && !table_is(r, "recompute", "selective"))
        return;
    flags_set(f, FLAG_RECOMPUTE_GRANULARITY, full ? "full" : "selective", msg);
    if (!full)
        return;
    flags_set(f, FLAG_RECOMPUTE_METHOD, "uniform", msg);
    flags_set_int(f, FLAG_RECOMPUTE_NUM_LAYERS, 1);
}

static int64_t micro_batches(struct table_row *r)
{
    const int64_t dp = table_whole(r, "dp", 1);
    const int64_t mbs = table_whole(r, "mbs", 1);
    const int64_t gbs = table_whole(r, "gbs", 0);
    const int64_t n = table_whole(r, "microbatches", 0);
    return n > 0 || dp * mbs <= 0 ? n : gbs / (dp * mbs);
}

static void set_split(struct table_row *r, struct megatron_flags *f,
                      struct err_msg *msg)
{
    const int64_t dp = table_whole(r, "dp", 1), pp = table_whole(r, "pp", 1);
    const int64_t mbs = table_whole(r, "mbs", 1);
    const int64_t vpp = table_whole(r, "vpp", 1);
    flags_set_int(f, FLAG_WORLD_SIZE,
                  table_whole(r, "tp", 1) * table_whole(r, "cp", 1) * pp * dp);
    flags_set_int(f, FLAG_GLOBAL_BATCH_SIZE, micro_batches(r) * mbs * dp);
    if (vpp > 1)
        flags_set_int(f, FLAG_VPP, vpp);
    if (*table_text(r, "layout"))
        flags_set(f, FLAG_LAYOUT, table_text(r, "layout"), msg);
    else if (table_is(r, "embed_loss_counted", "1")) {
        flags_set_on(f, FLAG_ACCOUNT_EMBEDDING);
        flags_set_on(f, FLAG_ACCOUNT_LOSS);
    }
    if (table_is(r, "overlap_ep", "1"))
        flags_set_on(f, FLAG_OVERLAP_MOE_COMM);
}

/* A model of the row's sizes alone. */
static enum err model_of_row(struct table_row *r, struct model *out,
                             struct err_msg *msg)
{
    static const struct table_flag list[] = {
        {"n_layers", FLAG_NUM_LAYERS},
        {"hidden", FLAG_HIDDEN_SIZE},
        {"heads", FLAG_NUM_ATTENTION_HEADS},
        {"query_groups", FLAG_NUM_QUERY_GROUPS},
        {"ffn", FLAG_FFN_HIDDEN_SIZE},
        {"experts", FLAG_NUM_EXPERTS},
        {"topk", FLAG_MOE_ROUTER_TOPK},
        {"moe_ffn", FLAG_MOE_FFN_HIDDEN_SIZE},
        {"mtp", FLAG_MTP_NUM_LAYERS},
        {"seq", FLAG_SEQ_LENGTH},
        {"vocab", FLAG_VOCAB_SIZE},
        {"tp", FLAG_TP},
        {"cp", FLAG_CP},
        {"ep", FLAG_EP},
        {"pp", FLAG_PP},
        {"mbs", FLAG_MICRO_BATCH_SIZE}};
    static const char *const needed[] = {"n_layers", "hidden", "seq", "vocab",
                                         "pp"};
    struct megatron_flags *f = arena_alloc(r->arena, 1, sizeof *f);
    if (!f)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!*table_text(r, needed[i]))
            return err_set(msg, ERR_MODEL, "%s is not stated", needed[i]);
    flags_init(f, r->arena);
    f->where = r->csv->where;
    set_numbers(r, list, sizeof list / sizeof list[0], f);
    set_kind(r, f, msg);
    set_recompute(r, f, msg);
    set_split(r, f, msg);
    return r->err == ERR_OK ? megatron_model(r->arena, f, out, msg) : r->err;
}

/* All layers of a shorter or longer model must be of one kind, or be what is
 * left of the pattern. A hybrid model's depth is its layout's. */
static enum err resize(struct table_row *r, struct model *m,
                       struct err_msg *msg)
{
    const int64_t n = table_whole(r, "n_layers", m->n_layers);
    if (model_is_hybrid(m) || r->err != ERR_OK)
        return ERR_OK;
    if (n < 1 || n > MODEL_MAX_LAYERS)
        return err_set(msg, ERR_RANGE, "n_layers: got %lld, want 1 to %d",
                       (long long)n, (int)MODEL_MAX_LAYERS);
    return depth_resize(r->arena, (int)n, m, msg);
}

/* The caller's model in the row's depth, split and batch. */
static enum err model_of_base(struct table_row *r, struct model *out,
                              struct err_msg *msg)
{
    *out = *r->options->model;
    out->par.pp = (int)table_whole(r, "pp", out->par.pp);
    out->par.vpp = (int)table_whole(r, "vpp", 1);
    out->par.dp = (int)table_whole(r, "dp", out->par.dp);
    out->batch.micro_batch = table_whole(r, "mbs", out->batch.micro_batch);
    const int64_t n = micro_batches(r);
    if (n > 0)
        out->batch.n_microbatches = n;
    out->batch.global_batch =
        out->batch.n_microbatches * out->batch.micro_batch * out->par.dp;
    if (out->par.pp < 1 || out->par.vpp < 1 || out->par.dp < 1 ||
        out->batch.micro_batch < 1)
        return err_set(msg, ERR_RANGE,
                       "pp, vpp, dp and mbs: want 1 or more of each");
    out->par.world = out->par.tp * out->par.cp * out->par.pp * out->par.dp;
    return resize(r, out, msg);
}

/* ---- the simulator ---- */

/* The number of layers beside a pattern counts symbols, or pairs of them.
 * Beside a GPT layout it counts pairs, and where no layout is given a model of
 * pairs may be a GPT model, of which twice as many would be another depth. */
static enum err check_depth(struct table_row *r, const struct model *m,
                            struct err_msg *msg)
{
    const char *text = table_text(r, "layout");
    const int64_t n = table_whole(r, "n_layers", 0);
    const bool pairs =
        *text ? translate_is_gpt(text) : translate_has_pairs(m->symbols);
    if (!n || 2 * n == m->n_layers || (n == m->n_layers && !pairs))
        return ERR_OK;
    return pairs ? err_set(msg, ERR_RANGE,
                           "n_layers: got %lld, the model here has %d layers "
                           "of two symbols: give a layout of the depth that "
                           "ran",
                           (long long)n, m->n_layers / 2)
                 : err_set(msg, ERR_RANGE,
                           "n_layers: got %lld, the layout has %d symbols",
                           (long long)n, m->n_layers);
}

static enum err layout_of_row(struct table_row *r, struct model *m,
                              struct layout *out, struct err_msg *msg)
{
    const char *text = table_text(r, "layout");
    const bool hybrid = r->options->model && model_is_hybrid(m);
    enum err e = !*text ? default_split_layout(r->arena, m, m->par.pp, out, msg)
                 : hybrid ? depth_read(r->arena, text, m, out, msg)
                          : layout_read(r->arena, text, m, out, msg);
    return e == ERR_OK && hybrid ? check_depth(r, m, msg) : e;
}

/* The layout says how many chunks a rank has; the column may only agree. */
static enum err check_chunks(struct table_row *r, const struct layout *l,
                             struct err_msg *msg)
{
    const int64_t vpp = table_whole(r, "vpp", l->vpp);
    return vpp == l->vpp
               ? ERR_OK
               : err_set(msg, ERR_RANGE,
                         "vpp: got %lld, the layout has %d stages, which is %d "
                         "for each of %d ranks",
                         (long long)vpp, l->n_stages, l->vpp, l->pp);
}

static bool has_schedule(const struct table_row *r)
{
    const char *name = table_text(r, "schedule");
    return !*name || strcmp(name, "1f1b") == 0 ||
           strcmp(name, "interleaved") == 0;
}

/* Where nothing is said of transfers, they take no time of their own and are
 * part of what is fitted; who waits for whom is as Megatron does it. */
static enum err open_row(struct table_row *r, struct observed *out,
                         struct err_msg *msg)
{
    struct model *m = arena_alloc(r->arena, 1, sizeof *m);
    const struct step_table_options *o = r->options;
    const int node = o->model ? o->gpus_per_node : 8;
    struct observed_case from = {
        .model = m,
        .gpus_per_node = (int)table_whole(r, "gpus_per_node", node),
        .links = o->links,
        .timers = o->timers,
        .no_recompute = !(o->terms >> OBSERVED_RECOMPUTE & 1U)};
    if (!m)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    if (!has_schedule(r))
        return err_set(msg, ERR_MODEL, "schedule '%s' is not Megatron's",
                       table_text(r, "schedule"));
    enum err e =
        r->options->model ? model_of_base(r, m, msg) : model_of_row(r, m, msg);
    if (e == ERR_OK)
        e = layout_of_row(r, m, &from.layout, msg);
    if (e == ERR_OK)
        e = check_chunks(r, &from.layout, msg);
    if (e != ERR_OK)
        return e;
    const struct plan_settings set = {.mode_given = o->mode_given,
                                      .mode = o->mode};
    m->par.vpp = from.layout.vpp;
    from.mode = plan_settings_mode(&set, m);
    return observed_open(r->arena, &from, out, msg);
}

/* ---- rows ---- */

static bool same_text(const char *x, const char *y)
{
    return strcmp(x, y) == 0;
}

static bool same_configuration(const struct table_row *r, size_t other)
{
    static const char *const columns[] = {
        "source",    "group",      "gpu",      "gpus_per_node",
        "n_layers",  "hidden",     "heads",    "query_groups",
        "ffn",       "experts",    "topk",     "moe_ffn",
        "mtp",       "seq",        "vocab",    "tp",
        "cp",        "ep",         "dp",       "pp",
        "vpp",       "layout",     "schedule", "embed_loss_counted",
        "recompute", "overlap_ep", "mbs",      "microbatches",
        "gbs"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        const char *x = csv_get(r->csv, r->at, columns[i]);
        const char *y = csv_get(r->csv, other, columns[i]);
        if (!same_text(x ? x : "", y ? y : ""))
            return false;
    }
    return true;
}

static void fill_entry(struct table_row *r, struct step_entry *out)
{
    const bool fit = table_is(r, "use", "fit") ||
                     (r->options->fit_all && !*table_text(r, "use"));
    *out = (struct step_entry){.id = table_text(r, "id"),
                               .source = table_text(r, "source"),
                               .group = table_text(r, "group"),
                               .compare = table_text(r, "compare"),
                               .gpu = table_text(r, "gpu"),
                               .layout = table_text(r, "layout"),
                               .excluded = table_is(r, "exclude", "1"),
                               .meas_s = table_number(r, "step_s"),
                               .why = ""};
    out->n_gpus = (double)table_whole(r, "n_gpus", 0);
    out->use = fit                             ? STEP_USE_FIT
               : table_is(r, "use", "predict") ? STEP_USE_PREDICT
                                               : STEP_USE_NONE;
}

/* Rows of no use are not simulated. A measured time of 0 is none. */
static enum err take_row(struct table_row *r, struct step_table *t, int first)
{
    struct step_entry *x = &t->entry[t->n];
    struct err_msg why;
    fill_entry(r, x);
    t->n++;
    if (x->excluded || x->use == STEP_USE_NONE || r->err != ERR_OK)
        return r->err;
    for (int i = 0; i < (int)r->at; i++)
        if (t->entry[first + i].of && same_configuration(r, (size_t)i)) {
            x->of = t->entry[first + i].of;
            return r->err;
        }
    struct observed *o = arena_alloc(r->arena, 1, sizeof *o);
    if (!o)
        return err_set(r->msg, ERR_NOMEM, "steps: out of memory");
    o->id = x->id;
    const enum err e = open_row(r, o, &why);
    if (e == ERR_NOMEM || r->err != ERR_OK)
        return r->err != ERR_OK ? r->err : err_set(r->msg, e, "%s", why.text);
    if (e == ERR_OK)
        x->of = o;
    else
        x->why = arena_strdup(r->arena, why.text);
    return x->why ? ERR_OK : err_set(r->msg, ERR_NOMEM, "steps: out of memory");
}

static void number_clusters(struct step_table *t)
{
    t->n_clusters = 0;
    for (int i = 0; i < t->n; i++) {
        struct step_entry *x = &t->entry[i];
        x->cluster = t->n_clusters;
        for (int k = 0; k < i && x->cluster == t->n_clusters; k++)
            if (same_text(t->entry[k].source, x->source) &&
                same_text(t->entry[k].gpu, x->gpu))
                x->cluster = t->entry[k].cluster;
        t->n_clusters += x->cluster == t->n_clusters;
    }
}

static bool is_fitted(const struct step_entry *x)
{
    return x->of && x->use == STEP_USE_FIT && !x->excluded && x->meas_s > 0;
}

/* What a unit costs is of a micro-batch: rows of another size share nothing. */
static bool is_together(const struct step_entry *x, const struct step_entry *y)
{
    return y->cluster == x->cluster && same_text(y->group, x->group) &&
           y->of->model.batch.micro_batch == x->of->model.batch.micro_batch;
}

/* The number of an entry's group among those numbered already, or the next
 * one. */
static void number_group(struct step_table *t, int i, int *n_groups)
{
    struct step_entry *x = &t->entry[i];
    for (int k = 0; k < t->n; k++) {
        const struct step_entry *y = &t->entry[k];
        if (y->of && y->of->group >= 0 && is_together(x, y)) {
            x->of->group = y->of->group;
            return;
        }
    }
    x->of->group = (*n_groups)++;
}

/* Within a cluster, by name, and those to be fitted first: what is to be
 * predicted must not move a number of the fit, nor the order of a sum. */
static void number_groups(struct step_table *t)
{
    for (int i = 0; i < t->n; i++)
        if (t->entry[i].of)
            t->entry[i].of->group = -1;
    for (int c = 0; c < t->n_clusters; c++) {
        int n = 0;
        for (int fitted = 1; fitted >= 0; fitted--)
            for (int i = 0; i < t->n; i++) {
                const struct step_entry *x = &t->entry[i];
                if (x->cluster == c && x->of && x->of->group < 0 &&
                    is_fitted(x) == (fitted == 1))
                    number_group(t, i, &n);
            }
    }
}

static enum err require_columns(const struct csv *t, bool sizes,
                                struct err_msg *msg)
{
    static const char *const columns[] = {"step_s", "pp", "group", "n_layers",
                                          "hidden"};
    const size_t n = sizes ? sizeof columns / sizeof columns[0] : 1;
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < t->n_columns && !found; k++)
            found = same_text(t->names[k], columns[i]);
        if (!found)
            return err_set(msg, ERR_PARSE,
                           "%s: no column '%s': is it a file "
                           "of step times?",
                           t->where, columns[i]);
    }
    return ERR_OK;
}

enum err step_table_read(struct arena *a, const char *path,
                         const struct step_table_options *options,
                         struct step_table *table, struct err_msg *msg)
{
    struct csv csv;
    enum err e = csv_read_file(a, path, &csv, msg);
    if (e == ERR_OK)
        e = require_columns(&csv, !options->model, msg);
    if (e != ERR_OK)
        return e;
    const int first = table->n;
    struct step_entry *all =
        arena_alloc(a, (size_t)first + csv.n_rows + 1, sizeof *all);
    if (!all)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    if (first > 0)
        memcpy(all, table->entry, (size_t)first * sizeof *all);
    table->entry = all;
    struct table_row r = {
        .arena = a, .csv = &csv, .options = options, .msg = msg};
    for (; r.at < csv.n_rows && e == ERR_OK; r.at++)
        e = take_row(&r, table, first);
    number_clusters(table);
    number_groups(table);
    return e;
}

enum err step_table_rows(struct arena *a, const struct step_table *table,
                         int cluster, struct step_rows *out,
                         struct err_msg *msg)
{
    struct step_row *rows = arena_alloc(a, (size_t)table->n + 1, sizeof *rows);
    if (!rows)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    *out = (struct step_rows){rows, 0, 0};
    for (int i = 0; i < table->n; i++) {
        const struct step_entry *x = &table->entry[i];
        if (x->cluster != cluster || !is_fitted(x))
            continue;
        if (x->of->group >= out->n_groups)
            out->n_groups = x->of->group + 1;
        rows[out->n++] = (struct step_row){x->id, x->of, x->meas_s};
    }
    return ERR_OK;
}
