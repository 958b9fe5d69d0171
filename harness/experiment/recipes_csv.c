/*
 * How it works: a row's numbers are one array, in the order of the columns, so
 * that they are formatted in one place; texts stand between them. Reading is by
 * column name and takes what is missing as absent; what a row cannot do without
 * is checked at the end.
 */
#include "recipes_csv.h"

#include "base/csv.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "moe-bench/recipes/1"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const columns[] = {"format",
                                      "experiment",
                                      "model",
                                      "way",
                                      "pp",
                                      "vpp",
                                      "ep",
                                      "n_mb",
                                      "ep_overlap",
                                      "grid",
                                      "m_over_t",
                                      "l_over_t",
                                      "who",
                                      "compared",
                                      "layout",
                                      "pred_step_ms",
                                      "planner_step_ms",
                                      "bound_ms",
                                      "proof",
                                      "gap_pct",
                                      "worst_rank_mem_bytes",
                                      "costs_source",
                                      "source",
                                      "reason"};

/* ---- writing ---- */

/* Numbers of a row, in the order of the columns; 0 and NAN are empty where they
 * mean that there is none. */
enum { N_NUMBERS = 14 };

static void recipes_csv_numbers(const struct recipe_row *r,
                                char text[N_NUMBERS][CSV_NUMBER_BYTES],
                                const char *out[N_NUMBERS])
{
    const double x[N_NUMBERS] = {r->way,
                                 r->pp,
                                 r->vpp,
                                 r->ep > 0 ? r->ep : (double)NAN,
                                 r->n_mb > 0 ? r->n_mb : (double)NAN,
                                 r->ep_overlap,
                                 r->grid,
                                 r->m_over_t,
                                 r->l_over_t,
                                 r->pred_ms,
                                 r->planner_ms,
                                 r->bound_ms,
                                 r->gap_pct,
                                 r->mem_bytes > 0 ? (double)r->mem_bytes
                                                  : (double)NAN};
    for (int i = 0; i < N_NUMBERS; i++)
        out[i] = csv_number(x[i], text[i]);
}

/* What is the same in all rows (experiment, model, source of the costs) stands
 * in each of them: rows of several experiments may be put into one file. */
static bool recipes_csv_row(FILE *out, const struct manifest *mf,
                            const struct recipe_row *r)
{
    char text[N_NUMBERS][CSV_NUMBER_BYTES];
    const char *x[N_NUMBERS];
    recipes_csv_numbers(r, text, x);
    const char *model = mf->model_path ? mf->model_path : "inline";
    const char *const fields[] = {FORMAT,    mf->name,
                                  model,     x[0],
                                  x[1],      x[2],
                                  x[3],      x[4],
                                  x[5],      x[6],
                                  x[7],      x[8],
                                  r->who,    r->compared ? "1" : "0",
                                  r->layout, x[9],
                                  x[10],     x[11],
                                  r->proof,  x[12],
                                  x[13],     cost_source_name(COST_ANALYTIC),
                                  r->source, r->reason};
    return csv_write_row(out, fields, COUNT(fields));
}

enum err recipes_csv_write(const struct manifest *mf,
                           const struct recipe_rows *rows, const char *dir,
                           struct err_msg *msg)
{
    struct arena a; // of the path
    char *text = NULL;
    size_t len = 0;
    arena_init(&a);
    const char *path = arena_printf(&a, "%s/" RECIPES_CSV, dir);
    FILE *out = path ? open_memstream(&text, &len) : NULL;
    // in memory first: a full disk then leaves the old file whole
    bool ok = out && csv_write_row(out, columns, COUNT(columns));
    for (int i = 0; i < rows->n && ok; i++)
        ok = recipes_csv_row(out, mf, &rows->row[i]);
    ok = out && fclose(out) == 0 && ok;
    enum err e = ok ? text_write_own(path, text, len, msg)
                    : err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
    free(text);
    arena_clear(&a);
    return e;
}

/* ---- reading ---- */

/* A whole number, 0 where there is none. */
static int64_t recipes_csv_int(const struct csv *t, size_t row,
                               const char *column)
{
    double x = csv_double(t, row, column);
    // doubles hold whole numbers up to 2^53, about 9e15
    return isfinite(x) && fabs(x) < 9e15 ? (int64_t)x : 0;
}

/* Texts stay those of the table, which its arena owns. */
static struct recipe_row recipes_csv_take(const struct csv *t, size_t i)
{
    return (struct recipe_row){
        .way = (int)recipes_csv_int(t, i, "way"),
        .pp = (int)recipes_csv_int(t, i, "pp"),
        .vpp = (int)recipes_csv_int(t, i, "vpp"),
        .ep = (int)recipes_csv_int(t, i, "ep"),
        .n_mb = (int)recipes_csv_int(t, i, "n_mb"),
        .ep_overlap = recipes_csv_int(t, i, "ep_overlap") != 0,
        .grid = recipes_csv_int(t, i, "grid") != 0,
        .m_over_t = csv_double(t, i, "m_over_t"),
        .l_over_t = csv_double(t, i, "l_over_t"),
        .who = csv_text(t, i, "who"),
        .compared = recipes_csv_int(t, i, "compared") != 0,
        .layout = csv_text(t, i, "layout"),
        .pred_ms = csv_double(t, i, "pred_step_ms"),
        .planner_ms = csv_double(t, i, "planner_step_ms"),
        .bound_ms = csv_double(t, i, "bound_ms"),
        .proof = csv_text(t, i, "proof"),
        .gap_pct = csv_double(t, i, "gap_pct"),
        .mem_bytes = recipes_csv_int(t, i, "worst_rank_mem_bytes"),
        .source = csv_text(t, i, "source"),
        .reason = csv_text(t, i, "reason")};
}

static enum err recipes_csv_check(const struct csv *t, size_t i,
                                  const struct recipe_row *r,
                                  struct err_msg *msg)
{
    const char *format = csv_text(t, i, "format");
    if (strcmp(format, FORMAT) != 0)
        return err_set(msg, ERR_PARSE,
                       "%s: row %zu: format: got '%s', want '" FORMAT "'",
                       t->where, i + 2, format);
    // a refused way has nothing but its reason
    bool whole = r->way > 0 && r->pp > 0 && r->vpp > 0 &&
                 (*r->reason || (*r->layout && isfinite(r->pred_ms) &&
                                 isfinite(r->bound_ms)));
    return whole ? ERR_OK
                 : err_set(msg, ERR_PARSE,
                           "%s: row %zu: want way, pp, vpp, and layout, "
                           "pred_step_ms and bound_ms or a reason",
                           t->where, i + 2);
}

enum err recipes_csv_read(struct arena *a, const char *path,
                          struct recipe_rows *out, struct err_msg *msg)
{
    struct csv t;
    enum err e = csv_read_file(a, path, &t, msg);
    if (e != ERR_OK)
        return e;
    struct recipe_row *row = arena_alloc(a, t.n_rows + 1, sizeof *row);
    if (!row)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < t.n_rows && e == ERR_OK; i++) {
        row[i] = recipes_csv_take(&t, i);
        e = recipes_csv_check(&t, i, &row[i], msg);
    }
    if (e == ERR_OK)
        *out = (struct recipe_rows){row, (int)t.n_rows, (int)t.n_rows + 1};
    return e;
}
