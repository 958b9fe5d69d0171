/*
 * How it works: the dataset's own copies of manifest and model make the context
 * of every row again, so that a change of the costs by FLOPs, of the simulator,
 * of the memory model or of a default shows as another figure.
 */
#include "validate_recipes.h"

#include "experiment/recipes.h"
#include "experiment/recipes_csv.h"
#include "manifest/manifest.h"
#include "reference.h"

#include <math.h>
#include <unistd.h>

static const double VALIDATE_RECIPES_GIB = 1024.0 * 1024 * 1024;

bool validate_recipes_is(struct arena *a, const char *dir)
{
    const char *path = arena_printf(a, "%s/" RECIPES_CSV, dir);
    return path && access(path, R_OK) == 0;
}

static bool validate_recipes_near(double x, double y)
{
    return fabs(x - y) <= VALIDATE_RECIPES_SHARE * fabs(y);
}

/* One figure of a row as it is now and as it was written. */
struct change {
    const char *what;
    double now, then;
};

/* Notes what is wrong with a row, in words only for the first. */
static void validate_recipes_note(struct arena *a, const struct recipe_row *r,
                                  struct change c, struct validate_recipes *v)
{
    if (*v->first)
        return;
    v->first = arena_printf(a, "PP%d VPP%d%s '%s': %s %.9g, was %.9g", r->pp,
                            r->vpp, r->ep_overlap ? " with EP overlap" : "",
                            r->layout, c.what, c.now, c.then);
    v->first = v->first ? v->first : "out of memory";
}

/* The prediction is made anew, the search is not: its bound is only held
 * against the step. A layout that was refused then is not tried. */
static enum err validate_recipes_row(struct arena *a, const struct manifest *mf,
                                     const struct recipe_row *r,
                                     struct validate_recipes *v,
                                     struct err_msg *msg)
{
    struct recipe_prediction now;
    struct arena scratch; // hundreds of rows, each with a simulator of its own
    if (*r->reason) {
        v->n_refused++;
        return ERR_OK;
    }
    arena_init(&scratch);
    enum err e = recipes_predict(&scratch, mf, r, &now, msg);
    arena_clear(&scratch);
    if (e != ERR_OK)
        return e;
    v->n++;
    bool step = !validate_recipes_near(now.step_ms, r->pred_ms);
    if (step)
        validate_recipes_note(
            a, r, (struct change){"step (ms)", now.step_ms, r->pred_ms}, v);
    else if (now.mem_bytes != r->mem_bytes)
        validate_recipes_note(
            a, r,
            (struct change){"fullest rank (GiB)",
                            (double)now.mem_bytes / VALIDATE_RECIPES_GIB,
                            (double)r->mem_bytes / VALIDATE_RECIPES_GIB},
            v);
    v->n_changed += step || now.mem_bytes != r->mem_bytes;
    // a bound that a layout passes was no bound: the proof is wrong
    if (now.step_ms >= r->bound_ms * (1 - VALIDATE_RECIPES_SHARE))
        return ERR_OK;
    validate_recipes_note(
        a, r,
        (struct change){"step below the bound (ms)", now.step_ms, r->bound_ms},
        v);
    v->n_below++;
    return ERR_OK;
}

/* Changes of predictions are told; a step below its bound is wrong. */
enum err validate_recipes(struct arena *a, const char *dir,
                          struct validate_recipes *out, struct err_msg *msg)
{
    struct manifest mf;
    struct recipe_rows rows;
    struct validate_recipes v = {.first = ""};
    const char *manifest = arena_printf(a, "%s/manifest.json", dir);
    const char *csv = arena_printf(a, "%s/" RECIPES_CSV, dir);
    if (!manifest || !csv)
        return err_set(msg, ERR_NOMEM, "validate: out of memory");
    enum err e = reference_check(a, dir, msg);
    if (e != ERR_OK)
        return e;
    e = manifest_read(a, manifest, &mf, msg);
    if (e == ERR_OK)
        e = recipes_csv_read(a, csv, &rows, msg);
    for (int i = 0; e == ERR_OK && i < rows.n; i++)
        e = validate_recipes_row(a, &mf, &rows.row[i], &v, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", dir);
    v.experiment = mf.name;
    *out = v;
    return ERR_OK;
}
