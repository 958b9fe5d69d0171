/*
 * How it works: a table has a row for each figure, with a function that
 * computes it and one that finds it among our runs. A row stands in a study
 * where its figure is published, or where it is an input or a fitted number of
 * ours. What several rows need (searches) is made once.
 */
#include "study.h"

#include "base/csv.h"
#include "base/text.h"
#include "follow.h"
#include "measured.h"
#include "table.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *study_kind_name(enum study_kind k)
{
    static const char *const names[] = {[STUDY_INPUT] = "input",
                                        [STUDY_FITTED] = "fitted",
                                        [STUDY_FOLLOWS] = "follows"};
    return names[k];
}

/* ---- measured figures ---- */

/* Tables of all experiments of a study; the first that has a figure gives it.
 */
struct runs {
    const struct measured *of; // [n]
    int n;
};

typedef double (*runs_figure)(const struct measured *m);

static double runs_first(const struct runs *r, runs_figure f)
{
    double x = NAN;
    for (int i = 0; i < r->n && !isfinite(x); i++)
        x = f(&r->of[i]);
    return x;
}

static double over_default(const struct measured *m)
{
    return measured_ratio(m, "default", "pick");
}

static double over_count_based(const struct measured *m)
{
    return measured_ratio(m, "count-based", "pick");
}

static double flops_slower(const struct measured *m)
{
    return 100 * (measured_ratio(m, "flops-pick", "pick") - 1);
}

static double pick_error(const struct measured *m)
{
    return fabs(measured_number(m, "pick", "step_error_pct"));
}

static double standalone_error(const struct measured *m)
{
    return measured_number(m, "standalone-mtp", "step_error_pct");
}

static double two_error(const struct measured *m)
{
    return measured_number(m, "two-bottlenecks", "step_error_pct");
}

/* ---- the figures ---- */

/* A row of the table. `compute` NULL: only runs can tell. */
struct figure {
    const char *id, *what;
    enum study_kind kind;
    bool ours; // stands where no figure is published for the machine, too
    enum err (*compute)(const struct follow *f, struct study_row *to,
                        struct err_msg *msg);
    runs_figure measure;
    const char *role; // whose layout is the measured text
    const char *note;
};

#define NEEDS_RUNS "only runs can tell"

static const struct figure figures[] = {
    {"unit_cost_m", "an MTP layer, in decoder layers t", STUDY_INPUT, false,
     follow_m, NULL, NULL, ""},
    {"unit_cost_E", "the embedding, in t", STUDY_INPUT, true, follow_e, NULL,
     NULL,
     "not published: the roofline's, mostly the dense gradient of its table"},
    {"unit_cost_L", "the loss head with its output passes, in t", STUDY_FITTED,
     true, follow_l, NULL, NULL, "within the published range"},
    {"microbatches", "micro-batches a step", STUDY_FITTED, true, follow_batches,
     NULL, NULL,
     "not published: the manifest's batch in micro-batches of 1, "
     "2, 4, ... sequences"},
    {"overhead", "a step outside the pipeline, in t", STUDY_FITTED, true,
     follow_overhead, NULL, NULL, "not published: one a machine"},
    {"speedup_vs_default", "pick over Megatron's default", STUDY_FOLLOWS, false,
     follow_default, over_default, NULL,
     "the fitted numbers were chosen by these two speedups"},
    {"speedup_vs_count_based", "pick over the count-based rule", STUDY_FOLLOWS,
     false, follow_count_based, over_count_based, NULL,
     "the fitted numbers were chosen by these two speedups"},
    {"pick_layout", "the planner's pick", STUDY_FOLLOWS, false, follow_pick,
     NULL, "pick", ""},
    {"default_layout", "Megatron's default split", STUDY_FOLLOWS, false,
     follow_default_layout, NULL, "default", ""},
    {"count_based_layout", "the count-based rule's layout", STUDY_FOLLOWS,
     false, follow_count_layout, NULL, "count-based", ""},
    {"layouts_searched", "layouts without an empty stage", STUDY_FOLLOWS, false,
     follow_searched, NULL, NULL, ""},
    {"layouts_mtp_with_loss", "of these, MTP with the loss", STUDY_FOLLOWS,
     false, follow_with_loss, NULL, NULL, ""},
    {"layouts_loss_alone", "of these, MTP on a stage before the last",
     STUDY_FOLLOWS, false, follow_alone, NULL, NULL, ""},
    {"default_last_stage_work_ratio",
     "last stage of the default over its others", STUDY_FOLLOWS, true,
     follow_last_stage, NULL, NULL, ""},
    {"flops_unit_cost_m", "an MTP layer with its head by FLOPs, in t",
     STUDY_FOLLOWS, false, follow_flops_m, NULL, NULL,
     "by the manifest's sequence length, which is assumed"},
    {"flops_unit_cost_L", "one output pass by FLOPs, in t", STUDY_FOLLOWS,
     false, follow_flops_l, NULL, NULL,
     "by the manifest's sequence length, which is assumed"},
    {"roofline_unit_cost_m", "an MTP layer by the roofline, in t",
     STUDY_FOLLOWS, false, follow_roofline_m, NULL, NULL,
     "held to, not fitted"},
    {"roofline_unit_cost_L", "the loss head by the roofline, in t",
     STUDY_FOLLOWS, false, follow_roofline_l, NULL, NULL,
     "held to, not fitted"},
    {"flops_pick_slower_pct", "a pick by FLOPs over the pick, %", STUDY_FOLLOWS,
     true, follow_flops_loss, flops_slower, NULL, ""},
    {"standalone_mtp_error_pct",
     "predicted over measured of MTP on a stage of its own, less one, %",
     STUDY_FOLLOWS, true, follow_standalone, standalone_error, NULL, ""},
    {"two_bottlenecks_error_pct",
     "predicted over measured of two equally slow stages, less one, %",
     STUDY_FOLLOWS, true, follow_two_bottlenecks, two_error, NULL, ""},
    {"step_error_pct", "step error of the pick, %", STUDY_FOLLOWS, false, NULL,
     pick_error, NULL, NEEDS_RUNS},
    {"other_layouts_error_pct",
     "step error of other layouts with one slowest stage, at most, %",
     STUDY_FOLLOWS, false, NULL, measured_others_pct, NULL, NEEDS_RUNS},
    {"gap_to_best_pct", "the pick over the best measured, %", STUDY_FOLLOWS,
     false, NULL, measured_gap_pct, NULL, NEEDS_RUNS},
    {"memory_error_pct", "mean error of the stages' memory, %", STUDY_FOLLOWS,
     false, NULL, measured_memory_pct, NULL, NEEDS_RUNS},
    {"cost_usd", "GPU cost, US dollars", STUDY_FOLLOWS, false, NULL,
     measured_cost_usd, NULL, NEEDS_RUNS},
};

/* ---- a study ---- */

/* Layouts and ranges stay text. */
static struct study_value value_of(const char *text)
{
    struct study_value v = {NAN, text};
    if (text && text_to_double(text, &v.number))
        v.text = NULL;
    return v;
}

#define BY_ROOFLINE "roofline_" // before the figure that it is held to

/* "lo to hi" of a range that two keys state. */
static struct study_value published_of(const struct follow *f, const char *id)
{
    const struct study_bench *b = f->bench;
    if (text_starts(id, BY_ROOFLINE))
        id += strlen(BY_ROOFLINE);
    if (strcmp(id, "unit_cost_L") != 0)
        return value_of(study_published(b, id));
    const char *text = arena_printf(f->a, "%g to %g", b->l_lo, b->l_hi);
    return (struct study_value){NAN, text};
}

/* The first run that has it: a study's runs repeat one another. */
static struct study_value measured_of(const struct runs *runs,
                                      const struct figure *x)
{
    struct study_value v = {NAN, NULL};
    if (x->measure)
        v.number = runs_first(runs, x->measure);
    for (int i = 0; i < runs->n && x->role && !v.text; i++)
        v.text = measured_text(&runs->of[i], x->role, "layout");
    return v;
}

static bool is_none(const struct study_value *v)
{
    return !isfinite(v->number) && !v->text;
}

/* A figure that nobody published, and that is not ours to state, has no row. */
static enum err make_rows(const struct follow *f, const struct runs *runs,
                          struct study *s, struct err_msg *msg)
{
    const char *source = study_published(f->bench, "source");
    s->row = arena_alloc(f->a, COUNT(figures), sizeof *s->row);
    if (!s->row)
        return err_set(msg, ERR_NOMEM, "study: out of memory");
    for (size_t i = 0; i < COUNT(figures); i++) {
        const struct figure *x = &figures[i];
        struct study_row row = {.id = x->id,
                                .what = x->what,
                                .kind = x->kind,
                                .published = published_of(f, x->id),
                                .computed = {NAN, NULL},
                                .measured = measured_of(runs, x),
                                .source = source ? source : "",
                                .note = x->note};
        if (is_none(&row.published) && !x->ours)
            continue;
        if (is_none(&row.published))
            row.source = "";
        const enum err e = x->compute ? x->compute(f, &row, msg) : ERR_OK;
        if (e != ERR_OK)
            return err_prefix(msg, e, "%s: %s", s->name, x->id);
        s->row[s->n++] = row;
    }
    return ERR_OK;
}

/* An experiment that was never run has no folder, and no figures. */
static enum err read_runs(struct arena *a, const struct study_bench *b,
                          const char *results, struct runs *out,
                          struct err_msg *msg)
{
    struct measured *m = arena_alloc(a, (size_t)b->n_manifests, sizeof *m);
    if (!m)
        return err_set(msg, ERR_NOMEM, "study: out of memory");
    for (int i = 0; i < b->n_manifests; i++) {
        const char *dir =
            arena_printf(a, "%s/%s", results, b->manifest[i].name);
        const enum err e =
            dir ? measured_read(a, dir, &m[i], msg)
                : err_set(msg, ERR_NOMEM, "study: out of memory");
        if (e != ERR_OK)
            return e;
    }
    *out = (struct runs){m, b->n_manifests};
    return ERR_OK;
}

/* The fit first: every later figure is simulated with the costs that it finds.
 */
static enum err make_study(struct arena *a, const struct study_request *r,
                           int at, struct study *s, struct err_msg *msg)
{
    struct runs runs = {NULL, 0};
    struct follow f;
    *s = (struct study){.n = 0};
    enum err e = study_open(a, &r->manifest[at], r->n - at, &s->bench, msg);
    s->name = s->bench.name;
    if (e == ERR_OK)
        e = study_fit(a, &s->bench, msg);
    if (e == ERR_OK)
        e = read_runs(a, &s->bench, r->results, &runs, msg);
    if (e == ERR_OK)
        e = follow_open(a, &s->bench, &f, msg);
    return e == ERR_OK ? make_rows(&f, &runs, s, msg) : e;
}

/* A study takes as many manifests as it has runs. */
enum err studies_make(struct arena *a, const struct study_request *r,
                      struct studies *out, struct err_msg *msg)
{
    struct studies s = {arena_alloc(a, (size_t)r->n, sizeof *s.study), 0};
    if (!s.study)
        return err_set(msg, ERR_NOMEM, "study: out of memory");
    for (int at = 0; at < r->n;) {
        const enum err e = make_study(a, r, at, &s.study[s.n], msg);
        if (e != ERR_OK)
            return e;
        at += s.study[s.n++].bench.n_manifests;
    }
    *out = s;
    return ERR_OK;
}

/* ---- the table ---- */

/* The value as text; NULL where there is none. */
static const char *csv_value(const struct study_value *v,
                             char buf[CSV_NUMBER_BYTES])
{
    return v->text ? v->text : csv_number(v->number, buf);
}

/* One file for all studies; figures as numbers or texts, as they are. */
static bool write_studies(FILE *out, const void *data)
{
    static const char *const columns[] = {
        "format",    "study",    "id",       "what",   "kind",
        "published", "computed", "measured", "source", "note"};
    const struct studies *all = data;
    bool ok = csv_write_row(out, columns, COUNT(columns));
    for (int i = 0; i < all->n; i++)
        for (int k = 0; k < all->study[i].n && ok; k++) {
            const struct study_row *r = &all->study[i].row[k];
            char x[3][CSV_NUMBER_BYTES];
            const char *const fields[] = {"moe-bench/studies/1",
                                          all->study[i].name,
                                          r->id,
                                          r->what,
                                          study_kind_name(r->kind),
                                          csv_value(&r->published, x[0]),
                                          csv_value(&r->computed, x[1]),
                                          csv_value(&r->measured, x[2]),
                                          r->source,
                                          r->note};
            ok = csv_write_row(out, fields, COUNT(fields));
        }
    return ok;
}

enum err studies_write(const struct studies *s, const char *dir,
                       struct err_msg *msg)
{
    return table_write(dir, "studies.csv", write_studies, s, msg);
}
