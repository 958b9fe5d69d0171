/*
 * How it works: gnuplot is run under supervise, a script a figure, with an
 * environment of its own, and writes SVG and PDF. Cairo writes the time into a
 * PDF, which is replaced.
 */
#include "draw.h"

#include "base/file.h"
#include "base/text.h"
#include "launch/launch.h"
#include "launch/supervise.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    GNUPLOT_LIMIT_S = 60,     // a figure takes a second on a busy machine
    DRAW_MAX_BYTES = 64 << 20 // of a PDF: 100,000 operations have 10 MB
};

static const char *const ends[] = {"svg", "pdf"};

static enum err draw_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

/* gnuplot takes a name that begins with '<' or '|' for a command to run. */
static char *plain_path(struct arena *a, const char *path)
{
    if (!path)
        return NULL;
    return arena_printf(a, "%s%s", strchr("<|", *path) && *path ? "./" : "",
                        path);
}

/* gnuplot would write through a link, to what is not ours. */
static enum err draw_check_output(struct arena *a, const char *figure,
                                  struct err_msg *msg)
{
    struct stat st;
    for (size_t i = 0; i < COUNT(ends); i++) {
        const char *path = arena_printf(a, "%s.%s", figure, ends[i]);
        if (!path)
            return draw_no_memory(msg);
        if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
            return err_set(msg, ERR_IO,
                           "%s: no plain file where a figure is written; "
                           "remove it",
                           path);
    }
    return ERR_OK;
}

/* Of the time that the PDF says it was made: digits only, so that no offset
 * within the file changes. The zone is UTC by the environment. */
static enum err forget_time(struct arena *a, const char *figure,
                            struct err_msg *msg)
{
    static const char MARK[] = "/CreationDate (D:";
    const char *path = arena_printf(a, "%s.pdf", figure);
    struct text_span pdf;
    if (!path)
        return draw_no_memory(msg);
    enum err e = text_read_bytes(a, path, DRAW_MAX_BYTES, &pdf, msg);
    if (e != ERR_OK)
        return e;
    char *copy = arena_alloc(a, pdf.len + 1, 1);
    if (!copy)
        return draw_no_memory(msg);
    memcpy(copy, pdf.data, pdf.len);
    for (size_t i = 0; i + sizeof MARK < pdf.len; i++) {
        if (memcmp(copy + i, MARK, sizeof MARK - 1) != 0)
            continue;
        for (i += sizeof MARK - 1;
             i < pdf.len && isdigit((unsigned char)copy[i]); i++)
            copy[i] = '0';
    }
    return text_write_file(path, copy, pdf.len, msg);
}

/* What changes a drawing is set, the rest of the environment is left out. */
static char **draw_environment(struct arena *a)
{
    static const char *const kept[] = {"PATH", "HOME", "TMPDIR",
                                       "LD_LIBRARY_PATH"};
    char **env = arena_alloc(a, COUNT(kept) + 3, sizeof *env);
    size_t n = 0;
    if (!env)
        return NULL;
    env[n++] = arena_strdup(a, "TZ=UTC");
    env[n++] = arena_strdup(a, "LC_ALL=C.UTF-8");
    for (size_t i = 0; i < COUNT(kept); i++) {
        const char *value = getenv(kept[i]);
        if (value)
            env[n++] = arena_printf(a, "%s=%s", kept[i], value);
    }
    for (size_t i = 0; i < n; i++)
        if (!env[i])
            return NULL;
    env[n] = NULL;
    return env;
}

/* One script; what it said is kept only where it failed. */
static enum err run_gnuplot(struct arena *a, const struct drawing *d,
                            char *const argv[], const char *csv,
                            struct err_msg *msg)
{
    const char *log = arena_printf(a, "%s/gnuplot.log", d->out);
    char **env = draw_environment(a);
    if (!log || !env)
        return draw_no_memory(msg);
    const struct supervise_job job = {
        .argv = argv, .envp = env, .log_path = log, .limit_s = GNUPLOT_LIMIT_S};
    struct supervise_result r;
    enum err e = supervise_run(&job, &r, msg);
    if (e != ERR_OK)
        return e;
    if (r.end != SUPERVISE_EXITED || r.code != 0)
        return err_set(msg, ERR_CHILD,
                       "gnuplot could not draw %s from %s, see %s", argv[3],
                       csv, log);
    unlink(log);
    return ERR_OK;
}

/* `-d` leaves out the user's own settings. */
static enum err draw_figure(struct arena *a, const struct drawing *d,
                            const struct figure *g, struct err_msg *msg)
{
    const char *csv = arena_printf(a, "%s/%s", d->source->dir, g->csv);
    char *out = plain_path(
        a, arena_printf(a, "%s/%s-%s", d->out, d->source->experiment, g->name));
    char *argv[] = {arena_strdup(a, "gnuplot"),
                    arena_strdup(a, "-d"),
                    arena_strdup(a, "-c"),
                    arena_printf(a, "%s/%s", d->plots, g->script),
                    arena_printf(a, "%s/style.gp", d->plots),
                    plain_path(a, csv),
                    out,
                    arena_strdup(a, figure_title(a, g, d->source)),
                    NULL};
    size_t n = 0;
    for (size_t i = 0; i + 1 < COUNT(argv); i++)
        if (!argv[i])
            return draw_no_memory(msg);
    enum err e = figure_count(a, g, d->source, &n, msg);
    if (e == ERR_OK && n == 0 && d->log && access(csv, F_OK) == 0)
        fprintf(d->log, "%s: left out, no %s in %s\n", out, g->needs, csv);
    if (e != ERR_OK || n == 0)
        return e;
    e = draw_check_output(a, out, msg);
    if (e == ERR_OK)
        e = run_gnuplot(a, d, argv, csv, msg);
    if (e == ERR_OK)
        e = forget_time(a, out, msg);
    if (e == ERR_OK && d->log)
        fprintf(d->log, "%s.svg %s.pdf\n", out, out);
    return e;
}

/* A folder of results has one of these; one without any is a slip, and the
 * message is that of the file that most have. */
static enum err draw_check(struct arena *a, const struct report_source *source,
                           struct err_msg *msg)
{
    static const char *const others[] = {"recipes.csv",  "studies.csv",
                                         "plans.csv",    "memory.csv",
                                         "overview.csv", "predicted.csv"};
    struct csv csv;
    for (size_t i = 0; i < COUNT(others); i++) {
        const char *path = arena_printf(a, "%s/%s", source->dir, others[i]);
        if (!path)
            return draw_no_memory(msg);
        if (access(path, F_OK) == 0)
            return ERR_OK;
    }
    const char *measured = arena_printf(a, "%s/layouts.csv", source->dir);
    return measured ? csv_read_file(a, measured, &csv, msg)
                    : draw_no_memory(msg);
}

/* As supervise will find it. */
bool draw_is_possible(struct arena *a)
{
    return launch_find_program(a, "gnuplot") != NULL;
}

/* A folder that no figure can be drawn of is told first, also where gnuplot is
 * missing. */
enum err draw_figures(struct arena *a, const struct drawing *d,
                      struct err_msg *msg)
{
    enum err e = draw_check(a, d->source, msg);
    if (e != ERR_OK)
        return e;
    if (!draw_is_possible(a))
        return err_set(msg, ERR_CHILD,
                       "gnuplot not found in PATH, run 'make deps'");
    e = file_make_folders(d->out, msg);
    for (size_t i = 0; e == ERR_OK && figure_at(i); i++)
        e = draw_figure(a, d, figure_at(i), msg);
    return e;
}
