/*
 * How it works: what is made anew lies in a folder of its own, so that all of
 * it can be compared before anything is said. Every difference is one line, of
 * a form that names the file first.
 */
#include "stale.h"

#include "base/text.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STALE_MAX_BYTES = 64 << 20 }; // of a file: figures have 10 MB at most

static enum err stale_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "report: out of memory");
}

/* True when both can be read and are equal. */
static enum err are_equal(struct arena *a, const struct stale_pair *p,
                          bool *out, struct err_msg *msg)
{
    struct text_span made, kept;
    *out = false;
    enum err e = text_read_bytes(a, p->made, STALE_MAX_BYTES, &made, msg);
    if (e != ERR_OK || access(p->kept, F_OK) != 0)
        return e;
    e = text_read_bytes(a, p->kept, STALE_MAX_BYTES, &kept, msg);
    *out = e == ERR_OK && made.len == kept.len &&
           memcmp(made.data, kept.data, made.len) == 0;
    return e;
}

/* Missing and different are told apart: the first is a new figure that was not
 * committed. */
enum err stale_file(struct arena *a, const struct stale_pair *p,
                    struct stale *s, struct err_msg *msg)
{
    bool same = false;
    enum err e = are_equal(a, p, &same, msg);
    if (e == ERR_OK && !same) {
        fprintf(s->out, "%s: %s\n", p->kept,
                access(p->kept, F_OK) == 0 ? "it is not what the data give"
                                           : "it is missing");
        s->n++;
    }
    return e;
}

/* What an SVG says of the program that drew it, "" where it says nothing. */
static const char *drawn_by(struct arena *a, const char *path)
{
    static const char MARK[] = "Produced by ";
    struct text_span text;
    if (!text_ends(path, ".svg") || access(path, R_OK) != 0 ||
        text_read_bytes(a, path, STALE_MAX_BYTES, &text, NULL) != ERR_OK)
        return "";
    const char *at = strstr(text.data, MARK);
    return at ? arena_printf(a, "%.*s", (int)strcspn(at, "<\n"), at) : "";
}

/* Names of the figures that were made. */
struct names {
    struct dirent **entry;
    int n;
};

/* Are the folders' figures of different versions of gnuplot? The first pair
 * tells. */
static bool is_other_gnuplot(struct arena *a, const struct stale_pair *p,
                             const struct names *of)
{
    for (int i = 0; i < of->n; i++) {
        const char *name = of->entry[i]->d_name;
        const char *made = arena_printf(a, "%s/%s", p->made, name);
        const char *kept = arena_printf(a, "%s/%s", p->kept, name);
        const char *x = made ? drawn_by(a, made) : "";
        const char *y = kept ? drawn_by(a, kept) : "";
        if (x && y && *x && *y)
            return strcmp(x, y) != 0;
    }
    return false;
}

/* True when no PDF of several is as it was. Changed data would leave some, and
 * show in the SVG: it is the drawing library or the font that is another. */
static enum err is_other_library(struct arena *a, const struct stale_pair *p,
                                 const struct names *of, bool *out,
                                 struct err_msg *msg)
{
    int n_pdf = 0, n_same = 0;
    enum err e = ERR_OK;
    for (int i = 0; i < of->n && e == ERR_OK; i++) {
        bool same = false;
        const struct stale_pair pdf = {
            arena_printf(a, "%s/%s", p->kept, of->entry[i]->d_name),
            arena_printf(a, "%s/%s", p->made, of->entry[i]->d_name)};
        if (!pdf.kept || !pdf.made)
            e = stale_no_memory(msg);
        else if (text_ends(pdf.made, ".pdf") && access(pdf.kept, F_OK) == 0) {
            e = are_equal(a, &pdf, &same, msg);
            n_pdf++;
            n_same += same;
        }
    }
    *out = n_pdf > 1 && n_same == 0;
    return e;
}

/* Hidden names are of editors and file systems. */
static int is_shown(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* A figure that is kept and that nobody makes. */
static enum err find_leftovers(struct arena *a, const struct stale_pair *p,
                               struct stale *s, struct err_msg *msg)
{
    struct dirent **entry = NULL;
    const int n_entries = scandir(p->kept, &entry, is_shown, alphasort);
    enum err e = ERR_OK;
    for (int i = 0; i < n_entries; i++) {
        const char *made = arena_printf(a, "%s/%s", p->made, entry[i]->d_name);
        if (!made)
            e = stale_no_memory(msg);
        else if (access(made, F_OK) != 0) {
            fprintf(s->out, "%s/%s: no figure of the report, remove it\n",
                    p->kept, entry[i]->d_name);
            s->n++;
        }
        free(entry[i]);
    }
    free(entry);
    return e;
}

/* Bytes, or with another gnuplot only that the figure is there. */
static enum err compare_figure(struct arena *a, const struct stale_pair *p,
                               bool bytes, struct stale *s, struct err_msg *msg)
{
    if (bytes)
        return stale_file(a, p, s, msg);
    if (access(p->kept, F_OK) != 0) {
        fprintf(s->out, "%s: it is missing\n", p->kept);
        s->n++;
    }
    return ERR_OK;
}

/* Figures one by one, as far as their bytes can be compared here. */
static enum err compare_figures(struct arena *a, const struct stale_pair *p,
                                const struct names *of, struct stale *s,
                                struct err_msg *msg)
{
    const bool gnuplot = is_other_gnuplot(a, p, of);
    bool library = false;
    enum err e = is_other_library(a, p, of, &library, msg);
    if (gnuplot || library)
        fprintf(s->out, "%s: %s of another %s, only names are compared\n",
                p->kept, gnuplot ? "figures" : "PDF figures",
                gnuplot ? "gnuplot" : "drawing library or font");
    for (int i = 0; i < of->n && e == ERR_OK; i++) {
        const char *name = of->entry[i]->d_name;
        const bool bytes = !gnuplot && !(library && text_ends(name, ".pdf"));
        const struct stale_pair figure = {
            arena_printf(a, "%s/%s", p->kept, name),
            arena_printf(a, "%s/%s", p->made, name)};
        e = figure.kept && figure.made
                ? compare_figure(a, &figure, bytes, s, msg)
                : stale_no_memory(msg);
    }
    return e;
}

/* Made against kept, then what is kept and no longer made. */
enum err stale_figures(struct arena *a, const struct stale_pair *p,
                       struct stale *s, struct err_msg *msg)
{
    struct names of = {NULL, 0};
    of.n = scandir(p->made, &of.entry, is_shown, alphasort);
    enum err e = compare_figures(a, p, &of, s, msg);
    for (int i = 0; i < of.n; i++)
        free(of.entry[i]);
    free(of.entry);
    return e == ERR_OK ? find_leftovers(a, p, s, msg) : e;
}
