/*
 * How it works: a folder is a source when it holds one of the files that a
 * table can be made of; the order is that of the names, so that a report does
 * not depend on the disk.
 */
#include "sources.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum err report_no_memory(const char *where, struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
}

/* Has the folder one of the tables that make it a source? */
static enum err has_tables(struct arena *a, const char *dir, bool *out,
                           struct err_msg *msg)
{
    static const char *const files[] = {"layouts.csv", "recipes.csv",
                                        "studies.csv", "plans.csv"};
    *out = false;
    for (size_t i = 0; i < COUNT(files) && !*out; i++) {
        const char *path = arena_printf(a, "%s/%s", dir, files[i]);
        if (!path)
            return report_no_memory(dir, msg);
        *out = access(path, R_OK) == 0;
    }
    return ERR_OK;
}

/* A folder without any of them (models, raw data) is not an experiment. */
static enum err add_source(struct arena *a, const char *name,
                           const struct report_find *f,
                           struct report_sources *to, struct err_msg *msg)
{
    const char *dir = arena_printf(a, "%s/%s", f->from, name);
    const char *experiment = dir ? arena_strdup(a, name) : NULL;
    bool any = false;
    if (!experiment)
        return report_no_memory(f->from, msg);
    const enum err e = has_tables(a, dir, &any, msg);
    if (e != ERR_OK)
        return e;
    if (name[0] != '.' && any)
        to->source[to->n++] =
            (struct report_source){experiment, dir, f->figures, dir};
    return ERR_OK;
}

/* In the order of their names: a report is the same wherever it is made. */
enum err report_find_sources(struct arena *a, const struct report_find *f,
                             struct report_sources *out, struct err_msg *msg)
{
    struct dirent **entry = NULL;
    int n = scandir(f->from, &entry, NULL, alphasort);
    struct report_sources s = {NULL, 0};
    s.source = arena_alloc(a, n > 0 ? (size_t)n : 1, sizeof *s.source);
    enum err e = s.source ? ERR_OK : report_no_memory(f->from, msg);
    for (int i = 0; i < n; i++) {
        if (e == ERR_OK)
            e = add_source(a, entry[i]->d_name, f, &s, msg);
        free(entry[i]);
    }
    free(entry);
    if (e == ERR_OK && s.n == 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: no experiment with a layouts.csv; 'moe-bench publish "
                    "MANIFEST' makes one",
                    f->from);
    if (e == ERR_OK)
        *out = s;
    return e;
}

/* Copied each time: sources are few. */
enum err report_add_source(struct arena *a, struct report_source source,
                           struct report_sources *to, struct err_msg *msg)
{
    struct report_source *s = arena_alloc(a, (size_t)to->n + 1, sizeof *s);
    if (!s)
        return report_no_memory(source.dir, msg);
    if (to->n > 0)
        memcpy(s, to->source, (size_t)to->n * sizeof *s);
    s[to->n] = source;
    *to = (struct report_sources){s, to->n + 1};
    return ERR_OK;
}

const struct report_source *report_source_of(const struct report_sources *from,
                                             const char *experiment)
{
    for (int i = 0; i < from->n; i++)
        if (strcmp(from->source[i].experiment, experiment) == 0)
            return &from->source[i];
    return NULL;
}

/* Also of a folder that cannot be read: then reading says why. */
bool report_source_has(struct arena *a, const struct report_source *source,
                       const char *file)
{
    const char *path = arena_printf(a, "%s/%s", source->dir, file);
    return path && access(path, F_OK) == 0;
}

/* Older data sets lack newer columns; the one that a table cannot do without is
 * asked for by name. */
enum err report_source_read(struct arena *a, const struct report_source *source,
                            const struct source_file *file, struct csv *out,
                            struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", source->dir, file->name);
    enum err e = path ? csv_read_file(a, path, out, msg)
                      : report_no_memory(source->dir, msg);
    // an empty file has no columns to be asked for
    if (e == ERR_OK && out->n_rows > 0 && !csv_get(out, 0, file->needs))
        e = err_set(msg, ERR_PARSE, "%s: no column '%s'", path, file->needs);
    return e;
}
