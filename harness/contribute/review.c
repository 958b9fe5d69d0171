/*
 * How it works: the folder becomes a contribution again, so that the same
 * checks are asked. For the errors each layout in turn is taken out of the fit,
 * with all of its runs, and predicted; the rows that came out so are scored as
 * those of public datasets are.
 */
#include "review.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/reader.h"
#include "chunk.h"
#include "doctor/steps.h"
#include "form_check.h"
#include "missing.h"
#include "own_files.h"
#include "pack.h"
#include "published/dataset.h"
#include "published/import_logs.h"
#include "redact.h"
#include "report/leaks.h"
#include "row_check.h"
#include "store/sums.h"
#include "store/temporary.h"
#include "take.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// of a log; of one rank's memory
enum { REVIEW_LOG_BYTES = 256 << 20, REVIEW_MOST_GIB = 1 << 20 };

/* Of a log's own median against its row's: both are of the same text. */
static const double REVIEW_STEP_TOLERANCE = 1e-9;

struct reviewing {
    struct arena *a;
    const char *dir;
    struct review *out;
    struct csv rows;
    struct published_dataset dataset;
    struct contribution *c;
    int n_gpus;    // as the manifest has it
    bool *has_log; // of each row, by the manifest
};

static enum err review_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "contributed: out of memory");
}

bool review_is(struct arena *a, const char *dir)
{
    struct reader_doc doc;
    struct err_msg ignored;
    const char *path = arena_printf(a, "%s/manifest.json", dir);
    if (!path || access(path, R_OK) != 0)
        return false;
    reader_open_file(&doc, a, path, CONTRIBUTED_FORMAT, &ignored);
    return reader_close(&doc) == ERR_OK;
}

/* A dataset's name is its folder's. */
static const char *review_name(const struct reviewing *v)
{
    const char *slash = strrchr(v->dir, '/');
    return slash ? slash + 1 : v->dir;
}

/* ---- the manifest ---- */

static const char *const manifest_keys[] = {
    "format",  "made_by",    "from",     "example", "date",   "source",
    "clock",   "core",       "hardware", "consent", "series", "checks",
    "missing", "computable", "removed",  "runs"};

/* Word by word: another sentence is another consent. */
static void read_consent(struct reader top)
{
    const char *licence = "", *sentence = "";
    struct reader o = reader_object(top, "consent");
    reader_require(top, "consent", "the contributor's consent");
    reader_text(o, "licence", &licence);
    reader_text(o, "sentence", &sentence);
    if (reader_is_there(o) && (strcmp(licence, CONTRIBUTED_LICENCE) != 0 ||
                               strcmp(sentence, CONTRIBUTED_CONSENT) != 0))
        reader_fail(o, ERR_PARSE,
                    "want licence '" CONTRIBUTED_LICENCE "' and the sentence "
                    "'" CONTRIBUTED_CONSENT "'");
}

/* Of two numbers of rows that differ one was edited. */
static void read_series(struct reviewing *v, struct reader top)
{
    const struct json_range count = {0, 1 << 20};
    struct contribution *c = v->c;
    struct reader s = reader_object(top, "series");
    int n_rows = 0;
    int64_t stated = 0;
    reader_require(top, "series", "the runs that were made");
    reader_bool(s, "planned", &c->is_planned);
    reader_int64(s, "n_stated", count, &stated);
    reader_int(s, "n_rows", count, &n_rows);
    c->n_series = stated;
    c->n_lost = reader_count(reader_list(s, "without_step"));
    if (reader_is_there(s) && n_rows != (int)v->rows.n_rows)
        reader_fail(s, ERR_PARSE, "n_rows: got %d, and rows.csv has %zu",
                    n_rows, v->rows.n_rows);
}

/* Which rows have a log. */
static void read_runs(struct reviewing *v, struct reader top)
{
    struct reader list = reader_list(top, "runs");
    size_t i = 0;
    v->has_log = arena_alloc(v->a, v->rows.n_rows + 1, sizeof *v->has_log);
    reader_require(top, "runs", "the runs");
    if (reader_is_there(list) && reader_count(list) != (int)v->rows.n_rows)
        reader_fail(list, ERR_PARSE, "got %d runs, and rows.csv has %zu",
                    reader_count(list), v->rows.n_rows);
    for (struct reader r = reader_first(list);
         r.item && v->has_log && i < v->rows.n_rows; r = reader_next(r)) {
        const char *log = NULL;
        reader_text(r, "log", &log);
        v->has_log[i++] = log != NULL;
    }
}

/* Which form the source has decides what a row must be. */
static enum contribution_from from_of(struct reader top)
{
    static const char *const names[] = {
#define REVIEW_FROM(id, name, help) name,
        CONTRIBUTION_FROM_TABLE(REVIEW_FROM)
#undef REVIEW_FROM
    };
    int from = 0;
    reader_require(top, "from", "logs, experiment or typed");
    reader_choice(top, "from", names, N_CONTRIBUTION_FROM, &from);
    return (enum contribution_from)from;
}

/* The document stays open until all is read: its first error is the one that is
 * told, and a contribution is begun only where there was none. */
static enum err read_manifest(struct reviewing *v, struct err_msg *msg)
{
    struct reader_doc doc;
    const char *path = arena_printf(v->a, "%s/manifest.json", v->dir);
    const char *gpu = NULL, *core = NULL, *example = NULL;
    if (!path)
        return review_no_memory(msg);
    struct reader top =
        reader_open_file(&doc, v->a, path, CONTRIBUTED_FORMAT, msg);
    reader_keys(top, manifest_keys,
                sizeof manifest_keys / sizeof manifest_keys[0]);
    const enum contribution_from from = from_of(top);
    struct reader h = reader_object(top, "hardware");
    reader_require(top, "hardware", "the card and its number");
    reader_require(h, "gpu", "the card's name");
    reader_text(h, "gpu", &gpu);
    reader_int(h, "n_gpus", (struct json_range){1, 1 << 24}, &v->n_gpus);
    reader_text(top, "core", &core);
    reader_text(top, "example", &example);
    const struct contribution_begin b = {gpu, core, example != NULL};
    enum err e =
        reader_is_ok(top) ? contribution_init(v->a, &b, v->c, msg) : ERR_OK;
    v->c->from = from;
    v->c->name = review_name(v);
    reader_int(h, "gpus_per_node", (struct json_range){1, 1 << 16},
               &v->c->gpus_per_node);
    reader_text(top, "date", &v->c->date);
    reader_text(top, "source", &v->c->source);
    read_consent(top);
    if (e == ERR_OK)
        read_series(v, top);
    read_runs(v, top);
    if (e == ERR_OK)
        form_check_manifest(top, v->c);
    const enum err closed = reader_close(&doc);
    return e == ERR_OK ? closed : e;
}

/* ---- rows ---- */

/* 0 for no integer. */
static int64_t whole(const char *text)
{
    int64_t n = 0;
    return text_to_int64(text, &n) ? n : 0;
}

/* Sizes that differ between rows of one model. */
static void set_sizes(const struct reviewing *v, size_t row,
                      struct megatron_flags *f)
{
    static const struct {
        const char *column;
        enum flag_id id;
    } list[] = {{"pp", FLAG_PP},
                {"gbs", FLAG_GLOBAL_BATCH_SIZE},
                {"mbs", FLAG_MICRO_BATCH_SIZE},
                {"n_gpus", FLAG_WORLD_SIZE}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const int64_t n = whole(csv_text(&v->rows, row, list[i].column));
        if (n > 0)
            flags_set_int(f, list[i].id, n);
    }
}

/* What is in no known form is left out, and then differs from the row that is
 * made of it (row_check). */
static void read_figures(const struct reviewing *v, size_t row,
                         struct contribution_run *r)
{
    double q25 = 0, q75 = 0, gib = 0;
    csv_get_double(&v->rows, row, "step_s", &r->step_s);
    if (sscanf(csv_text(&v->rows, row, "spread"), "q25 %lf q75 %lf", &q25,
               &q75) == 2) {
        r->q25 = q25;
        r->q75 = q75;
    }
    // beyond, it is no number of bytes; the row then differs from its own
    if (csv_get_double(&v->rows, row, "memory_gib", &gib) && gib >= 0 &&
        gib < REVIEW_MOST_GIB)
        r->peak_bytes = (int64_t)(gib * 1024 * 1024 * 1024);
    r->profile = strcmp(csv_text(&v->rows, row, "use"), "fit") != 0;
    r->is_timed = r->profile && v->c->from == CONTRIBUTION_LOGS;
    row_check_origin(csv_text(&v->rows, row, "note"),
                     csv_text(&v->rows, row, "step_stat"), r);
    const int64_t n = whole(csv_text(&v->rows, row, "n_steps"));
    r->n_used = n > 0 && n <= INT32_MAX ? (int)n / r->span : 0;
}

/* Names first, then sizes, since everything else is made of them. */
static enum err read_row(struct reviewing *v, size_t row,
                         const struct megatron_args *model, struct err_msg *msg)
{
    const char *name = review_name(v);
    struct megatron_args *args = megatron_args_copy(v->a, model);
    struct contribution_run *r;
    const enum err e =
        args ? contribution_add(v->c, &r, msg) : review_no_memory(msg);
    if (e != ERR_OK)
        return e;
    r->name = csv_text(&v->rows, row, "id");
    const char *slash = strrchr(r->name, '/');
    if (strcmp(csv_text(&v->rows, row, "format"), PUBLISHED_FORMAT) != 0 ||
        strcmp(csv_text(&v->rows, row, "source"), name) != 0 || !slash ||
        strcmp(slash + 1, r->id) != 0)
        return err_set(msg, ERR_PARSE,
                       "%s/rows.csv: row %zu: got id '%s' of source '%s', want "
                       "'%s/%s' of '%s' in format " PUBLISHED_FORMAT,
                       v->dir, row + 1, r->name,
                       csv_text(&v->rows, row, "source"), name, r->id, name);
    if (strcmp(csv_text(&v->rows, row, "gpu"), v->c->gpu) != 0 ||
        whole(csv_text(&v->rows, row, "n_gpus")) != v->n_gpus)
        return err_set(msg, ERR_PARSE,
                       "%s/rows.csv: %s: got %s x %s, and manifest.json has %d "
                       "x %s",
                       v->dir, r->name, csv_text(&v->rows, row, "n_gpus"),
                       csv_text(&v->rows, row, "gpu"), v->n_gpus, v->c->gpu);
    set_sizes(v, row, megatron_args_flags(args));
    read_figures(v, row, r);
    row_check_ref(csv_text(&v->rows, row, "ref"), r);
    if (!(r->step_s > 0))
        return err_set(msg, ERR_PARSE, "%s/rows.csv: %s: no step_s", v->dir,
                       r->name);
    return contribution_judge(v->c, args, csv_text(&v->rows, row, "layout"), r,
                              msg);
}

/* All by the flags of one file, each with its own layout. */
static enum err read_rows(struct reviewing *v, struct err_msg *msg)
{
    struct megatron_args *model = megatron_args_new(v->a);
    const char *path = arena_printf(v->a, "%s/model.json", v->dir);
    enum err e = model && path ? megatron_args_read_file(v->a, model, path, msg)
                               : review_no_memory(msg);
    for (size_t i = 0; i < v->rows.n_rows && e == ERR_OK; i++)
        e = read_row(v, i, model, msg);
    return e == ERR_OK ? row_check(v->c, &v->rows, msg) : e;
}

/* ---- logs ---- */

/* What a log may hold, it holds also after redaction. */
static enum err check_redacted(struct reviewing *v, const char *path,
                               const struct text_span *text,
                               struct err_msg *msg)
{
    struct text_span again;
    struct removed r;
    removed_init(&r, v->a);
    const enum err e = redact_log(text, &r, &again, msg);
    if (e != ERR_OK)
        return e;
    if (again.len == text->len &&
        memcmp(again.data, text->data, text->len) == 0)
        return ERR_OK;
    return err_set(msg, ERR_MODEL,
                   "%s: holds %d texts that a contributed log must not, the "
                   "first is '%.40s'; make the folder again with 'moe-bench "
                   "contribute'",
                   path, r.n_texts, r.n_texts ? r.text[0].text : "");
}

static bool is_near(double x, double y)
{
    return fabs(x - y) <= REVIEW_STEP_TOLERANCE * fabs(y);
}

/* Steps of logs as they came; those of an experiment are corrected by its
 * rules. Memory and layout are the same in both. */
static enum err check_figures(struct reviewing *v, const struct runlog *log,
                              const struct import_times *t,
                              struct contribution_run *r, struct err_msg *msg)
{
    struct contribution_run told = {.peak_bytes = 0};
    const char *path = r->name;
    take_facts(log, &told);
    if (v->c->from == CONTRIBUTION_LOGS && !is_near(t->step_s, r->step_s))
        return err_set(msg, ERR_MODEL,
                       "%s: the median step is %.17g s, and rows.csv says "
                       "%.17g",
                       path, t->step_s, r->step_s);
    if (v->c->from == CONTRIBUTION_LOGS &&
        (!is_near(t->q25_s, r->q25) || !is_near(t->q75_s, r->q75)))
        return err_set(msg, ERR_MODEL,
                       "%s: its steps have quartiles %.17g and %.17g s, and "
                       "rows.csv says %.17g and %.17g",
                       path, t->q25_s, t->q75_s, r->q25, r->q75);
    if (v->c->from == CONTRIBUTION_LOGS && told.is_timed != r->profile)
        return err_set(
            msg, ERR_MODEL,
            "%s: was run with timers %s, and rows.csv says otherwise", path,
            told.is_timed ? "on" : "off");
    if (told.peak_bytes != r->peak_bytes)
        return err_set(msg, ERR_MODEL,
                       "%s: the peak of memory is %lld bytes, and rows.csv "
                       "says %lld",
                       path, (long long)told.peak_bytes,
                       (long long)r->peak_bytes);
    return take_layout_check(v->c, log, r, msg);
}

/* The same functions as when the log was given, so that equal logs give equal
 * figures to the last digit. */
static enum err check_step(struct reviewing *v, const char *path,
                           const struct text_span *text,
                           struct contribution_run *r, struct err_msg *msg)
{
    struct runlog log;
    struct steps steps;
    struct findings ignored = {.arena = v->a};
    struct import_times t;
    enum err e = logparse_read_memory(v->a, text->data, text->len, &log, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    steps_read(v->a, &log, &steps, &ignored);
    const struct log_iteration *it;
    double *x = arena_alloc(v->a, steps.n_used + 1, sizeof *x);
    int n = 0;
    for (size_t at = 0; x && (it = runlog_next_used(&log, &at)) != NULL;)
        x[n++] = it->step_ms * 1e-3;
    e = x ? import_times_of(x, n, 0, &t, msg) : review_no_memory(msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", path);
    r->printed_tflops = steps.printed_tflops;
    if (v->c->from == CONTRIBUTION_LOGS &&
        (n != r->n_used || steps.span != r->span))
        return err_set(
            msg, ERR_MODEL,
            "%s: %d lines count, each of %d iterations, and rows.csv "
            "says %d of %d",
            path, n, steps.span, r->n_used, r->span);
    return check_figures(v, &log, &t, r, msg);
}

/* Unpacked to a file, since what looks for secrets reads files. */
static enum err check_log(struct reviewing *v, const char *plain, int run,
                          struct err_msg *msg)
{
    struct contribution_run *r = &v->c->run[run];
    struct text_span text;
    const char *packed = arena_printf(v->a, "%s/logs/%s.txt.gz", v->dir, r->id);
    if (!packed)
        return review_no_memory(msg);
    const bool there = access(packed, R_OK) == 0;
    if (!v->has_log || there != v->has_log[run])
        return err_set(msg, ERR_MODEL,
                       "%s: is %sthere, and manifest.json says "
                       "otherwise",
                       packed, there ? "" : "not ");
    if (!there)
        return ERR_OK; // not given
    enum err e = file_unpack(packed, plain, msg);
    if (e == ERR_OK)
        e = leaks_check_file(plain, msg);
    if (e == ERR_OK)
        e = text_read_bytes(v->a, plain, REVIEW_LOG_BYTES, &text, msg);
    if (e == ERR_OK)
        e = check_redacted(v, packed, &text, msg);
    return e == ERR_OK ? check_step(v, packed, &text, r, msg) : e;
}

/* Unpacked one after the other below TMPDIR. */
static enum err check_logs(struct reviewing *v, struct err_msg *msg)
{
    struct temporary folder;
    enum err e = temporary_make(v->a, "moe-bench", &folder, msg);
    if (e != ERR_OK)
        return e;
    const char *plain = arena_printf(v->a, "%s/log", folder.path);
    e = plain ? ERR_OK : review_no_memory(msg);
    for (int i = 0; i < v->c->n && e == ERR_OK; i++)
        e = check_log(v, plain, i, msg);
    temporary_remove(&folder);
    return e;
}

/* ---- the fit, and errors ---- */

static bool is_layout_of(const struct contribution *c, int i, int k)
{
    return c->run[i].model.par.pp == c->run[k].model.par.pp &&
           strcmp(c->run[i].layout, c->run[k].layout) == 0;
}

/* Predicts the layout of row `at` from all others. */
static enum err predict_one(struct reviewing *v, const struct step_table *table,
                            int at, struct published_row *out,
                            struct err_msg *msg)
{
    struct published p;
    struct step_table t = *table;
    struct step_entry *own =
        arena_alloc(v->a, (size_t)table->n + 1, sizeof *own);
    if (!own)
        return review_no_memory(msg);
    memcpy(own, table->entry, (size_t)table->n * sizeof *own);
    for (int i = 0; i < t.n; i++)
        if (is_layout_of(v->c, i, at))
            own[i].use = i == at ? STEP_USE_PREDICT : STEP_USE_NONE;
    t.entry = own;
    const enum err e =
        published_predict(v->a, &t, observed_default_terms(), &p, msg);
    if (e == ERR_OK)
        *out = p.row[0];
    return e;
}

/* Units as the fit from all rows prices them. */
static void take_units(struct review *r, const struct published *all,
                       const struct step_table *table)
{
    struct observed_prices prices;
    const struct published_fit *fit = all->n_fits ? &all->fit[0] : NULL;
    r->fitted = fit && fit->made;
    r->why = fit && fit->why ? fit->why : "no row is for fitting";
    for (int i = 0; i < table->n && r->fitted; i++) {
        if (!table->entry[i].of ||
            !step_fit_covers(&fit->choice.fit, table->entry[i].of))
            continue;
        step_fit_prices(&fit->choice.fit, table->entry[i].of, &prices, NULL);
        for (int k = 0; k < N_KINDS; k++)
            if (table->entry[i].of->size[k] > 0) {
                r->kinds[r->n_kinds] = (enum unit_kind)k;
                r->fwd_s[r->n_kinds++] = prices.fwd_s[k];
            }
        return;
    }
}

/* A fit a row: some hundred rows take seconds. */
static enum err predict_rows(struct reviewing *v,
                             const struct step_table *table,
                             struct published *all, struct err_msg *msg)
{
    struct review *r = v->out;
    enum err e = ERR_OK;
    r->row = arena_alloc(v->a, (size_t)v->c->n + 1, sizeof *r->row);
    struct published_row *row =
        arena_alloc(v->a, (size_t)v->c->n + 1, sizeof *row);
    if (!r->row || !row)
        return review_no_memory(msg);
    for (int i = 0; i < v->c->n && e == ERR_OK; i++) {
        if (v->c->run[i].profile)
            continue;
        e = predict_one(v, table, i, &row[r->n], msg);
        r->row[r->n] =
            (struct review_row){&v->c->run[i], row[r->n].pred_s, row[r->n].why};
        if (model_is_hybrid(&v->c->run[i].model))
            r->row[r->n].why = MISSING_HYBRID_STEPS;
        r->n++;
    }
    all->row = row;
    all->n = r->n;
    all->n_fitted = 0;
    return e;
}

/* All rows by the one model of model.json, which rows.csv has only the sizes
 * of. */
static enum err fit_rows(struct reviewing *v, struct err_msg *msg)
{
    struct step_table table = {NULL, 0, 0};
    struct published all;
    const struct step_table_options options = {
        .model = &v->c->run[0].model,
        .terms = observed_default_terms(),
        .gpus_per_node = v->c->gpus_per_node ? v->c->gpus_per_node : 8};
    const char *path = published_rows_path(v->a, v->dir);
    enum err e = path ? step_table_read(v->a, path, &options, &table, msg)
                      : review_no_memory(msg);
    if (e == ERR_OK)
        e = published_predict(v->a, &table, options.terms, &all, msg);
    if (e != ERR_OK)
        return e;
    take_units(v->out, &all, &table);
    e = predict_rows(v, &table, &all, msg);
    return e == ERR_OK
               ? published_score(v->a, &all,
                                 v->rows.n_rows ? table.entry[0].source : NULL,
                                 &v->out->score, msg)
               : e;
}

/* ---- all of it ---- */

/* Before anything is believed. */
static enum err check_files(struct reviewing *v, struct err_msg *msg)
{
    const char *path = published_rows_path(v->a, v->dir);
    enum err e = sums_check(v->a, v->dir, msg);
    for (int i = 0; i < N_OWN_FILES && e == ERR_OK; i++)
        e = leaks_check_file(
            arena_printf(v->a, "%s/%s", v->dir, own_file_name(i)), msg);
    if (e == ERR_OK)
        e = published_dataset_read(v->a, v->dir, &v->dataset, msg);
    if (e == ERR_OK && strcmp(v->dataset.licence, CONTRIBUTED_LICENCE) != 0)
        e = err_set(msg, ERR_PARSE,
                    "%s/dataset.json: licence: got '%s', want "
                    "'" CONTRIBUTED_LICENCE "'",
                    v->dir, v->dataset.licence);
    if (e != ERR_OK)
        return e;
    e = path ? csv_read_file(v->a, path, &v->rows, msg) : review_no_memory(msg);
    if (e == ERR_OK && v->rows.n_rows == 0)
        e = err_set(msg, ERR_PARSE, "%s: no row", path);
    return e == ERR_OK ? own_files_check(v->a, v->dir, v->rows.n_rows, msg) : e;
}

/* Beside it lie the datasets that it must not repeat. */
static enum err ask_checks(struct reviewing *v, struct err_msg *msg)
{
    const char *slash = strrchr(v->dir, '/');
    const char *root =
        slash ? arena_strndup(v->a, v->dir, (size_t)(slash - v->dir)) : ".";
    const char *const others[] = {root, NULL};
    return root ? checks_ask(v->c, others, &v->out->checks, msg)
                : review_no_memory(msg);
}

/* What is cheap and refuses most comes first; logs are unpacked only of a
 * folder whose files are whole. */
enum err review_read(struct arena *a, const char *dir, struct review *out,
                     struct err_msg *msg)
{
    *out = (struct review){.n = 0};
    struct reviewing v = {.a = a, .out = out, .c = &out->of};
    v.dir = own_folder(a, dir);
    if (!v.dir)
        return review_no_memory(msg);
    enum err e = check_files(&v, msg);
    if (e == ERR_OK)
        e = read_manifest(&v, msg);
    if (e == ERR_OK)
        e = read_rows(&v, msg);
    if (e == ERR_OK)
        e = form_check_dataset(&out->of, v.dir, &v.dataset, msg);
    if (e == ERR_OK)
        e = check_logs(&v, msg);
    if (e == ERR_OK)
        e = ask_checks(&v, msg);
    return e == ERR_OK ? fit_rows(&v, msg) : e;
}
