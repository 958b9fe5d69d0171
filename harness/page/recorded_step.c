/*
 * How it works: the operations of a run are unpacked to a temporary file, read
 * into an arena that is cleared again, and one step of them is written.
 */
#include "recorded_step.h"

#include "base/file.h"
#include "base/join.h"
#include "base/stats.h"
#include "steps.h"
#include "store/oplog.h"
#include "store/temporary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_TIMES = 20,    // of a run's steps in a line
    MOST_SIZE = 1 << 16 // of stages or micro-batches
};

static enum err recorded_step_no_memory(struct err_msg *msg)
{
    return err_set(msg, ERR_NOMEM, "page: out of memory");
}

/* Is this row of iterations.csv a used step of the run? */
static bool recorded_step_uses(const struct recorded_step_of *of, size_t i,
                               double *ms, double *iteration)
{
    const char *id = csv_get(of->runs, of->row, "run_id");
    const char *other = csv_get(of->iterations, i, "run_id");
    double usable = 0;
    return id && other && strcmp(id, other) == 0 &&
           csv_get_double(of->iterations, i, "usable", &usable) && usable > 0 &&
           csv_get_double(of->iterations, i, "step_ms", ms) &&
           csv_get_double(of->iterations, i, "iteration", iteration);
}

/* Behind the first twenty only their number goes on: a line of hundreds tells
 * no more. */
const char *recorded_step_times(struct arena *a,
                                const struct recorded_step_of *of)
{
    struct join all = join_begin(a);
    int n = 0;
    double ms, iteration;
    for (size_t i = 0; i < of->iterations->n_rows; i++) {
        if (!recorded_step_uses(of, i, &ms, &iteration))
            continue;
        const char *text = arena_printf(a, "%s%.1f", n ? ", " : "", ms);
        if (n < MOST_TIMES && text)
            join_add(&all, text);
        n++;
    }
    if (n == 0)
        return NULL;
    join_add(&all, n > MOST_TIMES ? ", ... ms" : " ms");
    return join_end(&all);
}

/* The recorded step that is nearest to the median of those that count. */
static const struct oplog_step *
recorded_step_choose(struct arena *a, const struct recorded_step_of *of,
                     const struct oplog *log)
{
    const struct csv *t = of->iterations;
    double *x = arena_alloc(a, t->n_rows + 1, sizeof *x), ms, iteration;
    const struct oplog_step *best = NULL;
    double nearest = INFINITY;
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows && x; i++)
        if (recorded_step_uses(of, i, &ms, &iteration))
            x[n++] = ms;
    const double median = x ? stats_median(x, n) : (double)NAN;
    for (size_t i = 0; i < t->n_rows; i++) {
        if (!recorded_step_uses(of, i, &ms, &iteration) ||
            !(fabs(ms - median) < nearest))
            continue;
        for (int k = 0; k < log->n_steps; k++)
            if ((double)log->steps[k].iteration == iteration) {
                best = &log->steps[k];
                nearest = fabs(ms - median);
            }
    }
    return best;
}

/* A packed file is unpacked into a temporary folder, which the caller removes.
 */
static enum err recorded_step_unpack(struct arena *a, const char *packed,
                                     struct temporary *folder, const char **out,
                                     struct err_msg *msg)
{
    const enum err e = temporary_make(a, "moe-bench", folder, msg);
    if (e != ERR_OK)
        return e;
    *out = arena_printf(a, "%s/ops.csv", folder->path);
    return *out ? file_unpack(packed, *out, msg) : recorded_step_no_memory(msg);
}

/* Bounded, so that products of sizes stay numbers. */
static bool recorded_step_size(const struct recorded_step_of *of,
                               const char *column, int *out)
{
    double x;
    if (!csv_get_double(of->runs, of->row, column, &x) || x < 1 ||
        x > MOST_SIZE)
        return false;
    *out = (int)x;
    return true;
}

/* Stages and micro-batches by the run's row; false where it does not tell, or
 * where there are too many. */
static bool recorded_step_shape(const struct recorded_step_of *of,
                                struct oplog_shape *out, int *pp)
{
    int vpp = 1, n_mb = 1, dp = 1;
    if (!recorded_step_size(of, "pp", pp) ||
        !recorded_step_size(of, "vpp", &vpp) ||
        !recorded_step_size(of, "n_microbatches", &n_mb) ||
        !recorded_step_size(of, "dp", &dp) ||
        2.0 * *pp * vpp * n_mb > STEPS_MOST_OPERATIONS)
        return false;
    *out = (struct oplog_shape){*pp * vpp, n_mb, dp};
    return true;
}

/* The run's file, unpacked where it is packed; *out NULL: it has none. */
static enum err recorded_step_file(struct arena *a,
                                   const struct recorded_step_of *of,
                                   const char **out, struct temporary *folder,
                                   struct err_msg *msg)
{
    const char *id = csv_get(of->runs, of->row, "run_id");
    const char *plain =
        arena_printf(a, "%s/runs/%s/ops.csv", of->dir, id ? id : "");
    const char *packed = plain ? arena_printf(a, "%s.gz", plain) : NULL;
    *out = NULL;
    if (!packed)
        return recorded_step_no_memory(msg);
    // a table's word is no path out of its folder
    if (!id || !*id || *id == '.' || strchr(id, '/'))
        return ERR_OK;
    if (access(plain, R_OK) == 0) {
        *out = plain;
        return ERR_OK;
    }
    if (access(packed, R_OK) != 0)
        return ERR_OK;
    return recorded_step_unpack(a, packed, folder, out, msg);
}

/* The log of operations is read into an arena of its own, which ends with the
 * run: those of all runs together are many times the page. */
enum err recorded_step_add(struct sheet *s, const struct recorded_step_of *of,
                           int *out, struct err_msg *msg)
{
    struct oplog_shape shape;
    struct oplog log;
    struct arena scratch; // a log of some hundred kilobytes, for each run
    struct temporary folder = {.path = NULL};
    const char *path = NULL;
    int pp = 1;
    *out = -1;
    if (!recorded_step_shape(of, &shape, &pp))
        return ERR_OK;
    arena_init(&scratch);
    enum err e = recorded_step_file(&scratch, of, &path, &folder, msg);
    if (e == ERR_OK && path)
        e = oplog_read(&scratch, path, shape, &log, msg);
    temporary_remove(&folder);
    const struct oplog_step *step =
        e == ERR_OK && path ? recorded_step_choose(&scratch, of, &log) : NULL;
    if (step) {
        const struct steps_step t = {.pp = pp,
                                     .n_stages = log.n_stages,
                                     .n_mb = log.n_mb,
                                     .iteration = (double)step->iteration,
                                     .fwd_start_s = step->fwd_start_s,
                                     .fwd_s = step->fwd_s,
                                     .bwd_start_s = step->bwd_start_s,
                                     .bwd_s = step->bwd_s};
        *out = steps_add(s, &t);
    }
    arena_clear(&scratch);
    return e;
}
