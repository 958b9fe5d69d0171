/*
 * How it works: every file of the folder is parsed, each of its platforms is
 * predicted with its own world size, and becomes a row. Figures are quantiles
 * over the rows that a filter lets pass.
 */
#include "corpus.h"

#include "base/reader.h"
#include "base/stats.h"
#include "case.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Megatron-LM has some hundred test cases with logged memory, on up to a dozen
// images each
enum { CORPUS_MAX_FILES = 4096, CORPUS_MAX_ROWS = 16384 };

/* ---- reading ---- */

/* By the part of the model that its memory tests most: constants are fitted
 * with one family left out to see what they say of the others. */
static const char *family_of(const struct model *m)
{
    const struct memory_options *o = &m->memory;
    if (o->optimizer != OPTIMIZER_ADAM)
        return o->optimizer == OPTIMIZER_MUON           ? "muon"
               : o->optimizer == OPTIMIZER_MUON_SHARDED ? "muon-sharded"
                                                        : "muon-layout";
    if (o->graphs)
        return "graphs";
    if (m->n_experts && m->mla)
        return "moe-mla";
    // the few full-size models, whose peaks are not noise of small tensors
    if (m->n_experts && m->hidden >= 4096)
        return "moe-large";
    if (m->n_experts)
        return m->par.cp > 1         ? "moe-cp"
               : m->overlap_moe_comm ? "moe-overlap"
               : o->grouped_gemm     ? "moe-grouped"
                                     : "moe-sequential";
    if (o->local_kernels)
        return "dense-local";
    return m->par.cp > 1    ? "dense-cp"
           : m->par.vpp > 1 ? "dense-interleaved"
           : o->loss_fusion ? "dense-fused-loss"
                            : "dense";
}

/* Images that Megatron's CI runs today; others are older and differ in kernels.
 */
static bool is_primary(const char *platform)
{
    return strcmp(platform, "dev_dgx_a100") == 0 ||
           strcmp(platform, "dev_dgx_h100") == 0 ||
           strcmp(platform, "dev_dgx_gb200") == 0;
}

/* 0 when the case does not tell. */
static double corpus_number_of(struct reader object, const char *key)
{
    double v = 0;
    reader_double(object, key, (struct json_range){0, JSON_MAX_INT}, &v);
    return v;
}

/* Only the last rank of the pipeline logs, so it is the one that is compared.
 */
static enum err predict_row(struct reader top, struct reader measured,
                            struct corpus_row *row, struct err_msg *msg)
{
    struct reader derived = reader_object(top, "derived");
    const char *config = NULL;
    reader_text(derived, "cublas_workspace_config", &config);
    struct memory_case_input in = {
        .flags = reader_get(top, "flags").item,
        .platform = row->platform,
        .world_size = (int64_t)corpus_number_of(measured, "world_size"),
        .padded_vocab_size =
            (int64_t)corpus_number_of(derived, "padded_vocab_size"),
        .workspace_configured = config && strcmp(config, ":4096:8") == 0};
    struct memory_case c;
    if (!reader_is_ok(top))
        return top.doc->err;
    enum err e = memory_case_predict(top.doc->a, &in, &c, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", top.doc->file);
    row->reason = c.refusal;
    row->family = c.model.hidden ? family_of(&c.model) : "other";
    row->muon = c.model.memory.optimizer != OPTIMIZER_ADAM;
    if (!c.refusal) {
        const struct memory_rank *last = &c.ranks[c.layout.pp - 1];
        row->pred_allocated_bytes = last->allocated_bytes;
        row->pred_peak_bytes = last->peak_bytes;
    }
    return ERR_OK;
}

/* A row of each platform, whose names are the keys of `measured`. */
static enum err read_platforms(struct reader top, struct corpus *c,
                               struct err_msg *msg)
{
    struct corpus_row row = {.name = NULL};
    bool supported = false;
    reader_require(top, "case", NULL);
    reader_require(top, "measured", NULL);
    reader_text(top, "case", &row.name);
    reader_bool(top, "moe", &row.moe);
    for (struct reader m = reader_first(reader_object(top, "measured"));
         reader_is_there(m); m = reader_next(m)) {
        row.platform = arena_strdup(top.doc->a, reader_key(m));
        row.primary = is_primary(reader_key(m));
        row.meas_allocated_bytes =
            (int64_t)corpus_number_of(m, "mem_allocated_bytes");
        row.meas_peak_bytes =
            (int64_t)corpus_number_of(m, "mem_max_allocated_bytes");
        // a test that logs no memory
        if (!row.meas_allocated_bytes)
            continue;
        if (c->n_rows == CORPUS_MAX_ROWS || !row.platform)
            return err_set(msg, ERR_RANGE, "%s: more than %d rows",
                           top.doc->file, CORPUS_MAX_ROWS);
        struct corpus_row *out = &c->rows[c->n_rows];
        *out = row;
        enum err e = predict_row(top, m, out, msg);
        if (e != ERR_OK)
            return e;
        supported = supported || !out->reason;
        c->n_rows++;
    }
    c->n_cases[row.moe]++;
    c->n_supported[row.moe] += supported;
    return ERR_OK;
}

static enum err read_case(struct arena *a, const char *path, struct corpus *c,
                          struct err_msg *msg)
{
    struct reader_doc doc;
    struct reader top = reader_open_file(&doc, a, path, NULL, msg);
    enum err e = reader_is_there(top) ? read_platforms(top, c, msg) : ERR_OK;
    enum err read = reader_close(&doc);
    return e == ERR_OK ? read : e;
}

/* readdir() has no order: tables must come out the same everywhere. */
static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Names of the folder's JSON files in order; their number, -1 on failure. */
static int list_files(struct arena *a, const char *dir, const char **names)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int n = 0;
    while (d && (entry = readdir(d)) && n < CORPUS_MAX_FILES) {
        size_t len = strlen(entry->d_name);
        if (len < 6 || strcmp(entry->d_name + len - 5, ".json") != 0)
            continue;
        names[n] = arena_printf(a, "%s/%s", dir, entry->d_name);
        if (!names[n++]) {
            n = -1;
            break;
        }
    }
    if (d)
        closedir(d);
    if (n > 0)
        qsort(names, (size_t)n, sizeof *names, by_name);
    return d ? n : -1;
}

enum err corpus_read(struct arena *a, const char *dir, struct corpus *out,
                     struct err_msg *msg)
{
    const char **names = arena_alloc(a, CORPUS_MAX_FILES, sizeof *names);
    const char *folder = arena_printf(a, "%s/cases", dir);
    struct corpus c = {.rows = arena_alloc(a, CORPUS_MAX_ROWS, sizeof *c.rows)};
    if (!names || !folder || !c.rows)
        return err_set(msg, ERR_NOMEM, "corpus: out of memory");
    int n = list_files(a, folder, names);
    if (n < 0)
        return err_set(msg, ERR_PARSE, "%s: %s", folder, strerror(errno));
    if (n == 0)
        return err_set(msg, ERR_PARSE, "%s: no .json file, want cases", folder);
    for (int i = 0; i < n; i++) {
        enum err e = read_case(a, names[i], &c, msg);
        if (e != ERR_OK)
            return e;
    }
    *out = c;
    return ERR_OK;
}

/* ---- errors ---- */

double corpus_allocated_error(const struct corpus_row *r)
{
    return (double)r->pred_allocated_bytes / (double)r->meas_allocated_bytes -
           1;
}

double corpus_peak_error(const struct corpus_row *r)
{
    if (!r->meas_peak_bytes)
        return (double)NAN;
    return (double)r->pred_peak_bytes / (double)r->meas_peak_bytes - 1;
}

static bool corpus_passes(const struct corpus_row *r,
                          const struct corpus_filter *f)
{
    return !r->reason && (r->moe ? f->moe : f->dense) &&
           (r->primary || !f->primary_only) &&
           (!f->family || strcmp(f->family, r->family) == 0);
}

static double *corpus_values(struct arena *a, const struct corpus *c,
                             struct err_msg *msg)
{
    double *v = arena_alloc(a, c->n_rows + 1, sizeof *v);
    if (!v)
        err_set(msg, ERR_NOMEM, "corpus: out of memory");
    return v;
}

/* Signs are dropped: a median of signed errors may be 0 with every row far off.
 */
enum err corpus_errors(struct arena *a, const struct corpus *c,
                       const struct corpus_filter *f, struct corpus_errors *out,
                       struct err_msg *msg)
{
    double *v = corpus_values(a, c, msg);
    size_t n = 0;
    if (!v)
        return ERR_NOMEM;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct corpus_row *r = &c->rows[i];
        double e = f->peak ? corpus_peak_error(r) : corpus_allocated_error(r);
        if (corpus_passes(r, f) && isfinite(e))
            v[n++] = fabs(e);
    }
    *out = (struct corpus_errors){(int)n, stats_quantile(v, n, 0.5),
                                  stats_quantile(v, n, 0.9)};
    return ERR_OK;
}

/* What a margin has to cover: how far a measured peak lies above its
 * prediction, 0 where it lies below. */
enum err corpus_underestimate(struct arena *a, const struct corpus *c, double q,
                              double *out, struct err_msg *msg)
{
    double *v = corpus_values(a, c, msg);
    size_t n = 0;
    if (!v)
        return ERR_NOMEM;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct corpus_row *r = &c->rows[i];
        if (r->reason || !r->primary || !r->meas_peak_bytes)
            continue;
        double more = (double)(r->meas_peak_bytes - r->pred_peak_bytes);
        v[n++] = more > 0 ? more / (double)r->pred_peak_bytes : 0;
    }
    *out = stats_quantile(v, n, q);
    return ERR_OK;
}

/* ---- the fitted constants ---- */

/* A constant and the rows that tell it: what the other terms leave there. */
struct constant {
    bool (*tells)(const struct corpus_row *r);
    double in_use;
};

/* Rows that do not have the other constant in them. */
static bool is_plain(const struct corpus_row *r)
{
    return !r->muon;
}

static bool is_muon(const struct corpus_row *r)
{
    return r->muon;
}

/* Median over the rows; *n_cases counts cases (rows of a case are
 * neighbours). */
static double fit_one(const struct corpus *c, const char *without,
                      const struct constant *k, double *left, int *n_cases)
{
    size_t n = 0;
    const char *last = "";
    *n_cases = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct corpus_row *r = &c->rows[i];
        if (r->reason || !r->primary || !k->tells(r) ||
            (without && strcmp(without, r->family) == 0))
            continue;
        double more =
            (double)(r->meas_allocated_bytes - r->pred_allocated_bytes);
        // the prediction holds the constant in use: what is left goes on top of
        // it
        left[n++] = more + k->in_use;
        *n_cases += strcmp(last, r->name) != 0;
        last = r->name;
    }
    return n ? stats_quantile(left, n, 0.5) : 0;
}

enum err corpus_fit(struct arena *a, const struct corpus *c,
                    const char *without, struct corpus_fit *out,
                    struct err_msg *msg)
{
    const struct memory_constants *use = &MEMORY_CONSTANTS;
    const struct constant small = {is_plain, (double)use->small_bytes};
    const struct constant muon = {is_muon, (double)use->muon_bytes};
    struct corpus_fit f = {.n_small_cases = 0};
    double *v = corpus_values(a, c, msg);
    if (!v)
        return ERR_NOMEM;
    f.constants.small_bytes =
        (int64_t)fit_one(c, without, &small, v, &f.n_small_cases);
    f.constants.muon_bytes =
        (int64_t)fit_one(c, without, &muon, v, &f.n_muon_cases);
    *out = f;
    return ERR_OK;
}

/* Predictions are linear in the constants, so no case is predicted anew. */
double corpus_error_with(const struct corpus_row *r,
                         const struct memory_constants *k)
{
    const struct memory_constants *use = &MEMORY_CONSTANTS;
    double more = (double)(k->small_bytes - use->small_bytes);
    if (r->muon)
        more += (double)(k->muon_bytes - use->muon_bytes);
    return ((double)r->pred_allocated_bytes + more) /
               (double)r->meas_allocated_bytes -
           1;
}
