#include "report.h"

#include "base/csv.h"
#include "base/text.h"
#include "launch/launch.h"
#include "launch/supervise.h"
#include "summary.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGIN "<!-- begin:"
#define END "<!-- end:"
#define CLOSE " -->"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { GNUPLOT_LIMIT_S = 60, NAME_BYTES = 128 };

/* ---- sources ---- */

struct source_list {
    struct report_source *source;
    int n, room;
};

static bool has_source(const struct source_list *l, const char *experiment)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->source[i].experiment, experiment) == 0)
            return true;
    return false;
}

static void add_source(struct arena *a, struct source_list *l,
                       const char *parent, const char *name)
{
    const char *dir = arena_printf(a, "%s/%s", parent, name);
    const char *file = dir ? arena_printf(a, "%s/layouts.csv", dir) : NULL;
    const char *experiment = arena_strdup(a, name);
    if (file && experiment && l->n < l->room && access(file, R_OK) == 0 &&
        !has_source(l, name))
        l->source[l->n++] = (struct report_source){experiment, dir};
}

static void report_scan(struct arena *a, struct source_list *l,
                        const char *parent)
{
    struct dirent **entry = NULL;
    int n = scandir(parent, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.')
            add_source(a, l, parent, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
}

enum err report_find_sources(struct arena *a, const char *results,
                             struct report_sources *out, struct err_msg *msg)
{
    struct source_list l = {.room = 256};
    const char *reference = arena_printf(a, "%s/reference", results);
    l.source = arena_alloc(a, (size_t)l.room, sizeof *l.source);
    if (!l.source || !reference)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", results);
    report_scan(a, &l, results);
    report_scan(a, &l, reference);
    if (l.n == 0)
        return err_set(msg, ERR_PARSE,
                       "%s: no experiment with a layouts.csv; run 'moe-bench "
                       "run experiments/local.json' first",
                       results);
    *out = (struct report_sources){l.source, l.n};
    return ERR_OK;
}

/* ---- tables ---- */

/* A number of a field and what follows it, or "-". */
static void report_print_number(FILE *out, const struct csv *t, size_t row,
                                const char *column, int digits)
{
    double x = NAN;
    if (csv_get_double(t, row, column, &x))
        fprintf(out, "%.*f", digits, x);
    else
        putc('-', out);
}

/* Text in a cell: a layout's bars would end the cell. */
static void report_print_cell(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '|' || *text == '*' || *text == '_')
            putc('\\', out);
        putc(*text, out);
    }
}

static void print_interval(FILE *out, const struct csv *t, size_t row,
                           const char *lo, const char *hi)
{
    double x, y;
    if (csv_get_double(t, row, lo, &x) && csv_get_double(t, row, hi, &y))
        fprintf(out, " [%.1f, %.1f]", x, y);
}

static void layouts_table(FILE *out, const struct csv *t)
{
    fputs("| role | layout | predicted ms | measured ms [95%] | error % | "
          "replay % | speedup predicted | speedup measured | rounds | source "
          "|\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        report_print_cell(out, csv_get(t, i, "role"));
        fputs(" | ", out);
        report_print_cell(out, csv_get(t, i, "layout"));
        fputs(" | ", out);
        report_print_number(out, t, i, "pred_step_ms", 1);
        print_interval(out, t, i, "pred_lo_ms", "pred_hi_ms");
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_step_ms", 1);
        print_interval(out, t, i, "meas_lo_ms", "meas_hi_ms");
        fputs(" | ", out);
        report_print_number(out, t, i, "step_error_pct", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "replay_error_pct", 3);
        fputs(" | ", out);
        report_print_number(out, t, i, "pred_speedup", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_speedup", 2);
        fprintf(out, " | %s | %s |\n", csv_get(t, i, "n_rounds"),
                csv_get(t, i, "source"));
    }
}

static void stages_table(FILE *out, const struct csv *t)
{
    fputs("| role | stage | units | forward ms predicted | measured | backward "
          "ms predicted | measured | memory error % | in flight |\n"
          "|---|--:|---|--:|--:|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        fputs("| ", out);
        report_print_cell(out, csv_get(t, i, "role"));
        fprintf(out, " | %s | %s | ", csv_get(t, i, "stage"),
                csv_get(t, i, "units"));
        report_print_number(out, t, i, "pred_fwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_fwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "pred_bwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "meas_bwd_ms", 2);
        fputs(" | ", out);
        report_print_number(out, t, i, "mem_error_pct", 1);
        fputs(" | ", out);
        report_print_number(out, t, i, "in_flight", 0);
        fputs(" |\n", out);
    }
}

static void jitter_table(FILE *out, const struct csv *t)
{
    fputs("| role | layout | stages within 2% of the slowest | step of mean "
          "times, ms | expected step, ms | more % |\n"
          "|---|---|--:|--:|--:|--:|\n",
          out);
    for (size_t i = 0; i < t->n_rows; i++) {
        double mean = NAN, expected = NAN;
        csv_get_double(t, i, "mean_step_ms", &mean);
        csv_get_double(t, i, "expected_step_ms", &expected);
        fputs("| ", out);
        report_print_cell(out, csv_get(t, i, "role"));
        fputs(" | ", out);
        report_print_cell(out, csv_get(t, i, "layout"));
        fprintf(out, " | %s | ", csv_get(t, i, "near_bottleneck"));
        report_print_number(out, t, i, "mean_step_ms", 1);
        fputs(" | ", out);
        report_print_number(out, t, i, "expected_step_ms", 1);
        if (isfinite(expected / mean))
            fprintf(out, " | %.2f |\n", 100 * (expected / mean - 1));
        else
            fputs(" | - |\n", out);
    }
}

static size_t count_status(const struct csv *t, const char *status)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *s = csv_get(t, i, "status");
        n += s && strcmp(s, status) == 0;
    }
    return n;
}

/* How many runs count, and where they were made. */
static void runs_table(FILE *out, const struct csv *t)
{
    static const char *const bad[] = {"invalid", "failed", "oom", "nan",
                                      "timeout"};
    fprintf(out, "%zu runs, %zu valid", t->n_rows, count_status(t, "valid"));
    for (size_t i = 0; i < COUNT(bad); i++)
        if (count_status(t, bad[i]) > 0)
            fprintf(out, ", %zu %s (left out)", count_status(t, bad[i]),
                    bad[i]);
    if (t->n_rows > 0)
        fprintf(out, "; %s, %s clock, launcher %s, on %s; commit %.12s, %.10s",
                csv_get(t, 0, "source"), csv_get(t, 0, "clock"),
                csv_get(t, 0, "launcher"), csv_get(t, 0, "hardware"),
                csv_get(t, 0, "commit"), csv_get(t, 0, "started_utc"));
    fputs(".\n", out);
}

/* ---- what figures there are ---- */

struct figure {
    const char *name, *what, *script, *csv;
    const char *needs; // without a number in this column there is nothing
                       // to draw
};

static const struct figure figures[] = {
    {"step-time", "predicted against measured step time", "step_time.gp",
     "layouts.csv", "meas_step_ms"},
    {"speedup", "speedup over the default layout", "speedup.gp", "layouts.csv",
     "meas_speedup"},
    {"stage-work", "work of each stage", "stage_work.gp", "stages.csv",
     "pred_fwd_ms"},
    {"stage-memory", "peak memory of each stage", "stage_memory.gp",
     "stages.csv", "meas_mem_bytes"},
    {"timeline", "one recorded step of the default and of the pick",
     "timeline.gp", "timeline.csv", "end_ms"},
    {"unit-cost", "cost of the units by FLOPs and measured", "unit_cost.gp",
     "units.csv", "fwd_ms"},
};

/* ERR_PARSE for a file that cannot be read; of those that older results do not
 * have, a missing one has nothing to draw. */
static enum err has_data(struct arena *a, const struct figure *g,
                         const char *path, bool *out, struct err_msg *msg)
{
    struct csv csv;
    double x;
    *out = false;
    if (access(path, F_OK) != 0 && strcmp(g->csv, "layouts.csv") != 0)
        return ERR_OK;
    enum err e = csv_read_file(a, path, &csv, msg);
    for (size_t i = 0; e == ERR_OK && i < csv.n_rows && !*out; i++)
        *out = csv_get_double(&csv, i, g->needs, &x);
    return e;
}

#define FIGURES "plots/out" // as REPORT.md links them

static const char *experiment_of(const struct csv *layouts)
{
    const char *name =
        layouts->n_rows > 0 ? csv_get(layouts, 0, "experiment") : NULL;
    return name ? name : "";
}

/* Links to the figures that report_draw() draws of the folder. */
static enum err list_figures(struct arena *a, const char *dir, FILE *out,
                             struct err_msg *msg)
{
    struct csv layouts;
    const char *path = arena_printf(a, "%s/layouts.csv", dir);
    enum err e = path ? csv_read_file(a, path, &layouts, msg)
                      : err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
    for (size_t i = 0; i < COUNT(figures) && e == ERR_OK; i++) {
        bool some = false;
        path = arena_printf(a, "%s/%s", dir, figures[i].csv);
        e = path ? has_data(a, &figures[i], path, &some, msg)
                 : err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
        if (e == ERR_OK && some)
            fprintf(out, "%s![%s](" FIGURES "/%s-%s.svg)\n", i > 0 ? "\n" : "",
                    figures[i].what, experiment_of(&layouts), figures[i].name);
    }
    return e;
}

static enum err report_print_summary(struct arena *a, const char *dir,
                                     FILE *out, struct err_msg *msg)
{
    struct summary s;
    enum err e = summary_read(a, dir, &s, msg);
    if (e == ERR_OK)
        summary_print(&s, out);
    return e;
}

/* ---- the tables ---- */

struct table {
    const char *name, *file;
    void (*print)(FILE *out, const struct csv *t);
    const char *needs; // a column that tells the file is the right one
    // in place of the above, for what several files tell
    enum err (*print_all)(struct arena *a, const char *dir, FILE *out,
                          struct err_msg *msg);
};

static const struct table tables[] = {
    {"summary", NULL, NULL, NULL, report_print_summary},
    {"figures", NULL, NULL, NULL, list_figures},
    {"layouts", "layouts.csv", layouts_table, "meas_step_ms", NULL},
    {"stages", "stages.csv", stages_table, "units", NULL},
    {"jitter", "jitter.csv", jitter_table, "near_bottleneck", NULL},
    {"runs", "runs.csv", runs_table, "status", NULL},
};

static enum err find_table(const char *name, const struct table **out,
                           struct err_msg *msg)
{
    const char *names[COUNT(tables)];
    for (size_t i = 0; i < COUNT(tables); i++) {
        names[i] = tables[i].name;
        if (strcmp(name, names[i]) == 0) {
            *out = &tables[i];
            return ERR_OK;
        }
    }
    const char *near = text_nearest(name, names, COUNT(tables));
    return err_set(msg, ERR_PARSE,
                   "unknown table '%s', want summary, figures, layouts, "
                   "stages, jitter or runs%s%s%s",
                   name, near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

static enum err report_print_table(struct arena *a, const struct table *t,
                                   const char *dir, FILE *out,
                                   struct err_msg *msg)
{
    struct csv csv;
    if (t->print_all)
        return t->print_all(a, dir, out, msg);
    const char *path = arena_printf(a, "%s/%s", dir, t->file);
    enum err e = path ? csv_read_file(a, path, &csv, msg)
                      : err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
    if (e == ERR_OK && csv.n_rows > 0 && !csv_get(&csv, 0, t->needs))
        e = err_set(msg, ERR_PARSE, "%s: no column '%s'", path, t->needs);
    if (e == ERR_OK)
        t->print(out, &csv);
    return e;
}

enum err report_table(struct arena *a, const char *table, const char *dir,
                      const char **out, struct err_msg *msg)
{
    const struct table *t = NULL;
    char *text = NULL;
    size_t len = 0;
    enum err e = find_table(table, &t, msg);
    if (e != ERR_OK)
        return e;
    FILE *f = open_memstream(&text, &len);
    if (f)
        e = report_print_table(a, t, dir, f, msg);
    bool ok = f && fclose(f) == 0;
    *out = ok && e == ERR_OK ? arena_strdup(a, text) : NULL;
    free(text);
    if (e != ERR_OK || *out)
        return e;
    return err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
}

/* ---- markers ---- */

/* The next pair of markers at or behind `from`. */
struct marked {
    char name[NAME_BYTES];
    const char *body, *end; // text between the markers' lines
};

static enum err next_marked(const char *from, struct marked *out, bool *found,
                            struct err_msg *msg)
{
    const char *begin = strstr(from, BEGIN);
    const char *close = begin ? strstr(begin, CLOSE) : NULL;
    char end[NAME_BYTES + 16];
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

static const char *report_folder_of(const struct report_sources *from,
                                    const char *experiment)
{
    for (int i = 0; i < from->n; i++)
        if (strcmp(from->source[i].experiment, experiment) == 0)
            return from->source[i].dir;
    return NULL;
}

/* The new text between one pair of markers; NULL: leave what is there. */
static enum err new_body(struct arena *a, const char *name,
                         const struct report_sources *from, const char **out,
                         struct err_msg *msg)
{
    char table[NAME_BYTES];
    const char *colon = strchr(name, ':');
    *out = NULL;
    if (!colon)
        return err_set(msg, ERR_PARSE,
                       "marker '%s': want TABLE:EXPERIMENT, e.g. layouts:local",
                       name);
    snprintf(table, sizeof table, "%.*s", (int)(colon - name), name);
    const struct table *t = NULL;
    const char *dir = report_folder_of(from, colon + 1), *body = NULL;
    enum err e = find_table(table, &t, msg);
    if (e != ERR_OK || !dir)
        return e;
    e = report_table(a, table, dir, &body, msg);
    if (e != ERR_OK)
        return e;
    *out = arena_printf(a, "\n%s", body);
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "report: out of memory");
}

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
        fwrite(at, 1, (size_t)((body ? m.body : m.end) - at), out);
        if (body)
            fputs(body, out);
        at = m.end;
    }
}

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

/* ---- figures ---- */

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

static enum err report_do_draw(struct arena *a, const struct report_figures *f,
                               const struct figure *g, struct err_msg *msg)
{
    char *argv[8] = {arena_strdup(a, "gnuplot"), arena_strdup(a, "-c")};
    argv[2] = arena_printf(a, "%s/%s", f->plots, g->script);
    argv[3] = arena_printf(a, "%s/style.gp", f->plots);
    argv[4] = arena_printf(a, "%s/%s", f->source->dir, g->csv);
    argv[5] =
        arena_printf(a, "%s/%s-%s", f->out, f->source->experiment, g->name);
    argv[6] = figure_title(a, f->source);
    const char *log = arena_printf(a, "%s/gnuplot.log", f->out);
    for (int i = 0; i < 7; i++)
        if (!argv[i])
            log = NULL;
    if (!log)
        return err_set(msg, ERR_NOMEM, "figures: out of memory");
    const struct supervise_job job = {
        .argv = argv, .log_path = log, .limit_s = GNUPLOT_LIMIT_S};
    struct supervise_result r;
    bool some = false;
    enum err e = has_data(a, g, argv[4], &some, msg);
    if (e == ERR_OK && !some && f->log)
        fprintf(f->log, "%s: left out, no %s in %s\n", argv[5], g->needs,
                argv[4]);
    if (e == ERR_OK && some)
        e = supervise_run(&job, &r, msg);
    if (e != ERR_OK || !some)
        return e;
    if (r.end != SUPERVISE_EXITED || r.code != 0)
        return err_set(msg, ERR_CHILD,
                       "gnuplot could not draw %s from %s, see %s", g->script,
                       argv[4], log);
    unlink(log);
    if (f->log)
        fprintf(f->log, "%s.svg %s.png\n", argv[5], argv[5]);
    return ERR_OK;
}

enum err report_draw(struct arena *a, const struct report_figures *f,
                     struct err_msg *msg)
{
    if (!launch_find_program(a, "gnuplot"))
        return err_set(msg, ERR_CHILD,
                       "gnuplot not found in PATH, run 'make deps'");
    if (mkdir(f->out, 0777) != 0 && errno != EEXIST)
        return err_set(msg, ERR_IO, "%s: cannot make folder: %s", f->out,
                       strerror(errno));
    for (size_t i = 0; i < COUNT(figures); i++) {
        enum err e = report_do_draw(a, f, &figures[i], msg);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}
