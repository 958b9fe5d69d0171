/*
 * How it works: a text is filled from its front, a pair of markers at a time.
 */
#include "fill.h"

#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// comments of Markdown: a page shows only what stands between them
#define BEGIN "<!-- begin:"
#define END "<!-- end:"
#define CLOSE " -->"

enum {
    REPORT_NAME_BYTES = 128
}; // of a marker: an experiment's name has 64 at most

/* The next pair of markers at or behind `from`. */
struct marked {
    char name[REPORT_NAME_BYTES];
    const char *body, *end; // text between the markers' lines
};

/* A begin without its end is an error: all behind it would be replaced. */
static enum err next_marked(const char *from, struct marked *out, bool *found,
                            struct err_msg *msg)
{
    const char *begin = strstr(from, BEGIN);
    const char *close = begin ? strstr(begin, CLOSE) : NULL;
    char end[REPORT_NAME_BYTES + 16];
    *found = close != NULL;
    if (!close)
        return ERR_OK;
    const char *name = begin + strlen(BEGIN);
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - name), name);
    snprintf(end, sizeof end, END "%s" CLOSE, out->name);
    out->body = close + strlen(CLOSE);
    out->end = strstr(out->body, end);
    if (!out->end)
        return err_set(msg, ERR_PARSE,
                       "marker '" BEGIN "%s" CLOSE "' has no '%s'", out->name,
                       end);
    return ERR_OK;
}

/* The new text between one pair of markers; NULL: leave what is there. */
static enum err new_body(struct arena *a, const char *name,
                         const struct report_sources *from, const char **out,
                         struct err_msg *msg)
{
    char table[REPORT_NAME_BYTES];
    const char *colon = strchr(name, ':');
    *out = NULL;
    if (!colon)
        return err_set(msg, ERR_PARSE,
                       "marker '%s': want TABLE:EXPERIMENT, e.g. layouts:local",
                       name);
    snprintf(table, sizeof table, "%.*s", (int)(colon - name), name);
    // the text of an experiment that is not here stays as it is
    const struct report_source *source = report_source_of(from, colon + 1);
    const char *body = NULL;
    enum err e = report_find_table(a, table, msg);
    if (e != ERR_OK || !source)
        return e;
    e = report_table(a, table, source, &body, msg);
    if (e != ERR_OK)
        return e;
    *out = arena_printf(a, "\n%s", body);
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "report: out of memory");
}

/* Copies what stands outside of markers as it is. */
static enum err report_do_fill(struct arena *a, const char *text,
                               const struct report_sources *from, FILE *out,
                               struct err_msg *msg)
{
    for (const char *at = text;;) {
        struct marked m;
        bool found = false;
        const char *body = NULL;
        enum err e = next_marked(at, &m, &found, msg);
        if (e == ERR_OK && found)
            e = new_body(a, m.name, from, &body, msg);
        if (e != ERR_OK)
            return e;
        if (!found) {
            fputs(at, out);
            return ERR_OK;
        }
        // without a new body the old one is copied, too
        fwrite(at, 1, (size_t)((body ? m.body : m.end) - at), out);
        if (body)
            fputs(body, out);
        at = m.end;
    }
}

/* In memory: a report of which one table fails stays as it was. */
enum err report_fill(struct arena *a, const char *text,
                     const struct report_sources *from, const char **out,
                     struct err_msg *msg)
{
    char *filled = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&filled, &len);
    if (!f)
        return err_set(msg, ERR_NOMEM, "report: out of memory");
    enum err e = report_do_fill(a, text, from, f, msg);
    bool ok = fclose(f) == 0;
    const char *copy = ok ? arena_strdup(a, filled) : NULL;
    free(filled);
    if (e == ERR_OK && !copy)
        e = err_set(msg, ERR_NOMEM, "report: out of memory");
    if (e == ERR_OK)
        *out = copy;
    return e;
}

/* ---- comparing ---- */

/* The heading above a place of the text, without its marks. */
static const char *heading_at(struct arena *a, const char *text, const char *at)
{
    const char *found = NULL;
    for (const char *line = text; line && line < at;) {
        if (*line == '#')
            found = line;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!found)
        return "the beginning";
    found += strspn(found, "# ");
    return arena_printf(a, "%.*s", (int)strcspn(found, "\n"), found);
}

/* As editors count: from 1. */
static int line_at(const char *text, const char *at)
{
    int n = 1;
    for (; text < at; text++)
        n += *text == '\n';
    return n;
}

/* Every dataset is shown somewhere: one that is forgotten is not reported. */
static void compare_shown(const struct report_text *of,
                          const struct report_sources *from, struct stale *s)
{
    for (int i = 0; i < from->n; i++) {
        char mark[REPORT_NAME_BYTES + 16];
        snprintf(mark, sizeof mark, ":%s" CLOSE, from->source[i].experiment);
        if (strstr(of->text, mark))
            continue;
        fprintf(s->out, "%s: no table of '%s', whose data are in %s\n",
                of->name, from->source[i].experiment, from->source[i].dir);
        s->n++;
    }
}

/* What is wrong with the table; NULL: nothing. */
static enum err wrong_of(struct arena *a, const struct marked *m,
                         const struct report_sources *from, const char **out,
                         struct err_msg *msg)
{
    const char *body = NULL;
    *out = NULL;
    enum err e = new_body(a, m->name, from, &body, msg);
    if (e != ERR_OK)
        return e;
    const size_t len = (size_t)(m->end - m->body);
    if (!body)
        *out = "there are no data for it";
    else if (strlen(body) != len || memcmp(body, m->body, len) != 0)
        *out = "it is not what the data give";
    return ERR_OK;
}

/* Goes on behind a difference, so that one run names all of them. */
enum err report_compare(struct arena *a, const struct report_text *of,
                        const struct report_sources *from, struct stale *s,
                        struct err_msg *msg)
{
    for (const char *at = of->text;;) {
        struct marked m;
        bool found = false;
        const char *wrong = NULL;
        enum err e = next_marked(at, &m, &found, msg);
        if (e == ERR_OK && found)
            e = wrong_of(a, &m, from, &wrong, msg);
        if (e != ERR_OK)
            return e;
        if (!found)
            break;
        if (wrong) {
            fprintf(s->out, "%s:%d: section '%s', table '%s': %s\n", of->name,
                    line_at(of->text, m.body), heading_at(a, of->text, m.body),
                    m.name, wrong);
            s->n++;
        }
        at = m.end;
    }
    compare_shown(of, from, s);
    return ERR_OK;
}
