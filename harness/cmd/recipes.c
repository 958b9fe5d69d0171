/*
 * How it works: the cases of the manifest are planned one after the other, into
 * one table that is written at the end; a run that is stopped leaves what was
 * there before, since a search takes seconds and none is worth keeping.
 */
#include "recipes.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "experiment/recipes.h"
#include "experiment/recipes_csv.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const double GIB = 1024.0 * 1024.0 * 1024.0;

/* ---- what will be done ---- */

/* For --dry-run: no search, and no word on what it would find. */
static enum err recipes_list(struct arena *a, const struct manifest *mf,
                             const char *dir, struct err_msg *msg)
{
    const struct planning *p = &mf->planning;
    struct recipe_cases cases;
    enum err e = recipes_cases(a, mf, &cases, msg);
    if (e != ERR_OK)
        return e;
    double limit_s = 0;
    for (int i = 0; i < cases.n; i++)
        limit_s +=
            isfinite(cases.all[i].m_over_t) || isfinite(cases.all[i].l_over_t)
                ? p->ratio_limit_s
                : p->time_limit_s;
    printf("# %d ways, %d searches, at most %.0f s; nothing is started, "
           "results in %s\n",
           p->n_ways, cases.n, limit_s, dir);
    for (int i = 0; i < p->n_ways; i++) {
        const struct planning_way *w = &p->way[i];
        printf("PP%d VPP%d", w->pp, w->vpp);
        if (w->ep > 0)
            printf(" EP%d", w->ep);
        printf("%s%s%s%s\n", p->without_overlap ? ", without" : "",
               p->without_overlap && p->with_overlap ? " and" : "",
               p->with_overlap ? " with" : "", " EP overlap");
        for (int k = 0; k < p->n_recipes; k++)
            if (p->recipe[k].pp == w->pp && p->recipe[k].vpp == w->vpp)
                printf("  %s  (%s)\n", p->recipe[k].layout,
                       p->recipe[k].source);
    }
    return ERR_OK;
}

/* ---- doing it ---- */

struct recipes_progress {
    const struct manifest *manifest;
    bool quiet, terminal;
    double start_s, last_s;
};

/* At most one line a second, rewritten on a terminal. */
static void recipes_show(struct recipes_progress *p, int i, int n,
                         const struct recipe_case *c)
{
    const struct planning_way *w = &p->manifest->planning.way[c->way];
    double now_s = clock_now_s();
    if (p->quiet || now_s - p->last_s < 1)
        return;
    p->last_s = now_s;
    fprintf(stderr, "%s[%d/%d] %s PP%d VPP%d: %.0f s%s",
            p->terminal ? "\r" : "", i + 1, n, p->manifest->name, w->pp, w->vpp,
            now_s - p->start_s, p->terminal ? "\033[K" : "\n");
}

/* Minutes of searches, which a line on the terminal counts. */
static enum err recipes_plan_all(struct arena *a,
                                 const struct recipes_request *r,
                                 struct recipe_rows *rows, struct err_msg *msg)
{
    struct recipe_cases cases;
    struct recipes_progress p = {.manifest = r->manifest,
                                 .quiet = r->quiet,
                                 .terminal = isatty(STDERR_FILENO),
                                 .start_s = clock_now_s()};
    enum err e = recipes_cases(a, r->manifest, &cases, msg);
    *rows = (struct recipe_rows){NULL, 0, 0};
    for (int i = 0; e == ERR_OK && i < cases.n; i++) {
        recipes_show(&p, i, cases.n, &cases.all[i]);
        e = recipes_plan(a, r->manifest, &cases.all[i], rows, msg);
    }
    if (p.last_s > 0 && p.terminal)
        fputs("\r\033[K", stderr);
    return e;
}

/* ---- the table ---- */

/* Gaps with three digits: many recipes are behind by less than a percent. */
static void recipes_print_row(const struct recipe_row *r)
{
    char way[64];
    snprintf(way, sizeof way, "PP%d VPP%d", r->pp, r->vpp);
    printf("%-12s %-3s %-12s", way, r->ep_overlap ? "yes" : "no", r->who);
    if (*r->reason)
        printf(" refused: %s\n", r->reason);
    else
        printf(" %10.1f %7.3f %-10s %7.1f  %s\n", r->pred_ms, r->gap_pct,
               r->proof, (double)r->mem_bytes / GIB, r->layout);
}

/* The assumptions stand below the table, for its numbers mean nothing without
 * them. */
static void recipes_print(const struct manifest *mf,
                          const struct recipe_rows *rows, const char *dir)
{
    int n_grid = 0;
    printf("%-12s %-3s %-12s %10s %7s %-10s %7s  %s\n", "way", "ep", "who",
           "step ms", "gap %", "proof", "GiB", "layout");
    for (int i = 0; i < rows->n; i++) {
        n_grid += rows->row[i].grid;
        if (!rows->row[i].grid)
            recipes_print_row(&rows->row[i]);
    }
    printf("\n%s: analytic costs at %g TFLOP/s, ideal transfers. ", mf->name,
           mf->planning.tflops);
    if (mf->planning.with_overlap)
        printf("ep: EP overlap, a pair of MoE layers\nsaves %g%% of a layer "
               "(assumed). ",
               100 * mf->planning.save_share);
    printf("Gap: to the proved optimum, or (proof 'gap') to a bound\nthat no "
           "layout passes%s. GiB: of the fullest rank, predicted. %d rows with "
           "other ratios of\nm and L are in %s/" RECIPES_CSV ".\n",
           mf->planning.hybrid
               ? " (whole-layers: of those without cuts inside layers)"
               : "",
           n_grid, dir);
}

/* Manifest and table lie together from the first run on, so that either can be
 * held against the other. */
enum err recipes_command(struct arena *a, const struct recipes_request *r,
                         struct err_msg *msg)
{
    const struct manifest *mf = r->manifest;
    const char *dir = r->out ? r->out : arena_printf(a, "results/%s", mf->name);
    const char *copy = dir ? arena_printf(a, "%s/manifest.json", dir) : NULL;
    struct recipe_rows rows;
    if (!copy)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", mf->path);
    if (r->dry)
        return recipes_list(a, mf, dir, msg);
    enum err e = file_make_folders(dir, msg);
    if (e == ERR_OK)
        e = recipes_plan_all(a, r, &rows, msg);
    if (e == ERR_OK)
        e = recipes_csv_write(mf, &rows, dir, msg);
    // publish compares it with the manifest that it is asked for
    if (e == ERR_OK)
        e = text_write_own(copy, mf->text.data, mf->text.len, msg);
    if (e == ERR_OK)
        recipes_print(mf, &rows, dir);
    return e;
}
