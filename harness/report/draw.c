/*
 * How it works: a table lists the figures, each with its script, the file that
 * it is drawn from and a column without which there is nothing to draw; links
 * and drawings come from it. gnuplot is run under supervise, a script a figure,
 * and writes SVG and PNG.
 */
#include "draw.h"

#include "base/csv.h"
#include "base/file.h"
#include "launch/launch.h"
#include "launch/supervise.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { GNUPLOT_LIMIT_S = 60 }; // a figure takes a second on a busy machine

/* gnuplot's time grows with the square of a histogram's bars (4000 of them:
 * 16 s) and with that of a file's columns; nobody could tell so many apart. Of
 * a recorded step all operations are drawn: 64 stages with 256 micro-batches.
 */
enum {
    DRAW_MOST_BARS = 1000,
    DRAW_MOST_STAGES = 20000,
    DRAW_MOST_OPERATIONS = 100000,
    DRAW_MOST_COLUMNS = 1000
};

struct figure {
    const char *name, *what, *script, *csv;
    const char *needs; // without a number in this column there is nothing
                       // to draw
    size_t most_rows;
};

static const struct figure figures[] = {
    {"step-time", "predicted against measured step time", "step_time.gp",
     "layouts.csv", "meas_step_ms", DRAW_MOST_BARS},
    {"speedup", "speedup over the default layout", "speedup.gp", "layouts.csv",
     "meas_speedup", DRAW_MOST_BARS},
    {"stage-work", "work of each stage", "stage_work.gp", "stages.csv",
     "pred_fwd_ms", DRAW_MOST_STAGES},
    {"stage-memory", "peak memory of each stage", "stage_memory.gp",
     "stages.csv", "meas_mem_bytes", DRAW_MOST_STAGES},
    {"timeline", "one recorded step of the default and of the pick",
     "timeline.gp", "timeline.csv", "end_ms", DRAW_MOST_OPERATIONS},
    {"unit-cost", "cost of the units by FLOPs and measured", "unit_cost.gp",
     "units.csv", "fwd_ms", DRAW_MOST_BARS},
    {"recipes", "gap of public recipes to the optimum", "recipes.gp",
     "recipes.csv", "gap_pct", DRAW_MOST_STAGES},
};

static enum err draw_check_size(const struct figure *g, const struct csv *t,
                                struct err_msg *msg)
{
    if (t->n_rows <= g->most_rows && t->n_columns <= DRAW_MOST_COLUMNS)
        return ERR_OK;
    return err_set(msg, ERR_RANGE,
                   "%s: got %zu rows of %zu columns, want at most %zu rows of "
                   "%d columns for the figure '%s'",
                   t->where, t->n_rows, t->n_columns, g->most_rows,
                   DRAW_MOST_COLUMNS, g->what);
}

/* ERR_PARSE for a file that cannot be read, ERR_RANGE for one too large to
 * draw; one that the experiment does not
 * have (older ones, those that only plan) has nothing to draw. */
static enum err has_data(struct arena *a, const struct figure *g,
                         const char *path, bool *out, struct err_msg *msg)
{
    struct csv csv;
    double x;
    *out = false;
    if (access(path, F_OK) != 0)
        return ERR_OK;
    enum err e = csv_read_file(a, path, &csv, msg);
    if (e == ERR_OK)
        e = draw_check_size(g, &csv, msg);
    for (size_t i = 0; e == ERR_OK && i < csv.n_rows && !*out; i++)
        *out = csv_get_double(&csv, i, g->needs, &x);
    return e;
}

static enum err draw_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "figures: out of memory");
}

enum err draw_links(struct arena *a, const struct report_source *source,
                    FILE *out, struct err_msg *msg)
{
    const char *gap = ""; // between two links
    for (size_t i = 0; i < COUNT(figures); i++) {
        bool some = false;
        const char *csv = arena_printf(a, "%s/%s", source->dir, figures[i].csv);
        enum err e = csv ? has_data(a, &figures[i], csv, &some, msg)
                         : draw_no_memory(msg);
        if (e != ERR_OK)
            return e;
        if (some)
            fprintf(out, "%s![%s](%s/%s-%s.svg)\n", gap, figures[i].what,
                    source->figures, source->experiment, figures[i].name);
        gap = some ? "\n" : gap;
    }
    return ERR_OK;
}

/* "local (emulated)": a figure says what its figures are. */
static char *figure_title(struct arena *a, const struct report_source *source)
{
    struct csv t;
    const char *path = arena_printf(a, "%s/layouts.csv", source->dir);
    const char *what = NULL;
    if (path && csv_read_file(a, path, &t, NULL) == ERR_OK && t.n_rows)
        what = csv_get(&t, 0, "source");
    return what && *what ? arena_printf(a, "%s (%s)", source->experiment, what)
                         : arena_strdup(a, source->experiment);
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
    static const char *const ends[] = {"svg", "png"};
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

/* One script; what it said is kept only where it failed. */
static enum err draw_figure(struct arena *a, const struct drawing *d,
                            const struct figure *g, struct err_msg *msg)
{
    char *argv[8] = {arena_strdup(a, "gnuplot"), arena_strdup(a, "-c")};
    argv[2] = arena_printf(a, "%s/%s", d->plots, g->script);
    argv[3] = arena_printf(a, "%s/style.gp", d->plots);
    argv[4] = plain_path(a, arena_printf(a, "%s/%s", d->source->dir, g->csv));
    argv[5] = plain_path(
        a, arena_printf(a, "%s/%s-%s", d->out, d->source->experiment, g->name));
    argv[6] = figure_title(a, d->source);
    const char *log = arena_printf(a, "%s/gnuplot.log", d->out);
    for (int i = 0; i < 7; i++)
        if (!argv[i])
            log = NULL;
    if (!log)
        return draw_no_memory(msg);
    const struct supervise_job job = {
        .argv = argv, .log_path = log, .limit_s = GNUPLOT_LIMIT_S};
    struct supervise_result r;
    bool some = false;
    enum err e = has_data(a, g, argv[4], &some, msg);
    if (e == ERR_OK && !some && d->log && access(argv[4], F_OK) == 0)
        fprintf(d->log, "%s: left out, no %s in %s\n", argv[5], g->needs,
                argv[4]);
    if (e == ERR_OK && some)
        e = draw_check_output(a, argv[5], msg);
    if (e == ERR_OK && some)
        e = supervise_run(&job, &r, msg);
    if (e != ERR_OK || !some)
        return e;
    if (r.end != SUPERVISE_EXITED || r.code != 0)
        return err_set(msg, ERR_CHILD,
                       "gnuplot could not draw %s from %s, see %s", g->script,
                       argv[4], log);
    unlink(log);
    if (d->log)
        fprintf(d->log, "%s.svg %s.png\n", argv[5], argv[5]);
    return ERR_OK;
}

/* A folder of results has one of these; one without any is a slip, and the
 * message is that of the file that most have. */
static enum err draw_check(struct arena *a, const struct report_source *source,
                           struct err_msg *msg)
{
    static const char *const others[] = {"recipes.csv", "studies.csv",
                                         "plans.csv"};
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

enum err draw_figures(struct arena *a, const struct drawing *d,
                      struct err_msg *msg)
{
    enum err e = draw_check(a, d->source, msg);
    if (e != ERR_OK)
        return e;
    if (!launch_find_program(a, "gnuplot"))
        return err_set(msg, ERR_CHILD,
                       "gnuplot not found in PATH, run 'make deps'");
    e = file_make_folders(d->out, msg);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < COUNT(figures); i++) {
        e = draw_figure(a, d, &figures[i], msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
