/*
 * How it works: the datasets are added to a sheet, which prints to memory; then
 * the template is copied line by line, and where a line is "@NAME@" that part
 * is put in its place.
 */
#include "page.h"

#include "assets.h"
#include "html.h"
#include "sets.h"
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FORMAT "moe-bench/page/1"

/* A text being printed to memory. */
struct part {
    FILE *out;
    char *text;
    size_t n;
};

enum { PART_ROWS, PART_SETS, PART_TABLES, PART_DATA, N_PARTS };

struct page {
    struct sheet sheet;
    struct writer_doc doc;
    struct part part[N_PARTS];
};

static enum err page_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "page: out of memory");
}

/* False when memory ran out; page_close() and page_free() follow either way. */
static bool page_open(struct page *p, struct arena *a)
{
    bool ok = true;
    for (int i = 0; i < N_PARTS; i++) {
        p->part[i].out = open_memstream(&p->part[i].text, &p->part[i].n);
        ok = ok && p->part[i].out;
    }
    const struct writer top = writer_open(&p->doc);
    writer_text(top, "format", FORMAT);
    p->sheet = (struct sheet){.a = a,
                              .rows = p->part[PART_ROWS].out,
                              .sets = p->part[PART_SETS].out,
                              .tables = p->part[PART_TABLES].out,
                              .details = writer_list(top, "details"),
                              .timelines = writer_list(top, "timelines")};
    return ok;
}

/* False when a part could not be written. */
static bool page_close(struct page *p)
{
    bool ok = true;
    for (int i = 0; i < N_PARTS; i++)
        ok = p->part[i].out && fclose(p->part[i].out) == 0 && ok;
    return ok;
}

static void page_free(struct page *p)
{
    cJSON_Delete(writer_close(&p->doc));
    for (int i = 0; i < N_PARTS; i++)
        free(p->part[i].text);
}

/* The document ends the details: nothing can be added after it. */
static enum err page_fill(struct page *p, const struct page_sources *from,
                          struct err_msg *msg)
{
    enum err e = ERR_OK;
    for (int i = 0; i < from->n_dirs && e == ERR_OK; i++)
        e = sets_add(&p->sheet, from->dirs[i], msg);
    if (e == ERR_OK && p->sheet.n_rows == 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: found no dataset, want a folder with a layouts.csv, "
                    "recipes.csv or rows.csv in it or below",
                    from->n_dirs ? from->dirs[0] : "page");
    if (e != ERR_OK)
        return e;
    cJSON *tree = writer_close(&p->doc);
    e = html_json(p->part[PART_DATA].out, tree, msg);
    cJSON_Delete(tree);
    return e;
}

/* ---- the template ---- */

static void page_lines(FILE *out, const char *const *lines)
{
    for (; *lines; lines++)
        fputs(*lines, out);
}

/* A line of the template: itself, or what stands in its place. */
static void page_line(FILE *out, const struct page *p, const char *line)
{
    static const char *const names[N_PARTS] = {"@ROWS@\n", "@SETS@\n",
                                               "@TABLES@\n", "@DATA@\n"};
    for (int i = 0; i < N_PARTS; i++)
        if (strcmp(line, names[i]) == 0) {
            fwrite(p->part[i].text, 1, p->part[i].n, out);
            return;
        }
    if (strcmp(line, "@CSS@\n") == 0)
        page_lines(out, ASSETS_CSS);
    else if (strcmp(line, "@JS@\n") == 0)
        page_lines(out, ASSETS_JS);
    else
        fputs(line, out);
}

/* All parts in the places that the template has for them. */
static enum err page_join(struct arena *a, const struct page *p,
                          const char **out, struct err_msg *msg)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        return page_no_memory(msg);
    for (const char *const *line = ASSETS_HTML; *line; line++)
        page_line(f, p, *line);
    const bool ok = fclose(f) == 0;
    *out = ok ? arena_strdup(a, text) : NULL;
    free(text);
    return *out ? ERR_OK : page_no_memory(msg);
}

/* Whatever fails, streams are closed and the document is deleted: both are on
 * the heap. */
enum err page_make(struct arena *a, const struct page_sources *from,
                   const char **out, struct err_msg *msg)
{
    struct page *p = arena_alloc(a, 1, sizeof *p);
    if (!p)
        return page_no_memory(msg);
    enum err e =
        page_open(p, a) ? page_fill(p, from, msg) : page_no_memory(msg);
    if (!page_close(p) && e == ERR_OK)
        e = page_no_memory(msg);
    if (e == ERR_OK)
        e = page_join(a, p, out, msg);
    page_free(p);
    return e;
}
