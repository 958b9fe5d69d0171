/*
 * How it works: rows of the CSV file go to arrays by stage and micro-batch, one
 * set a step. Of replicas only the first is kept: all do the same work.
 */
#include "oplog.h"

#include "base/csv.h"

#include <math.h>
#include <string.h>

#define FORMAT "moe-train/ops/1"

struct op_row {
    int64_t iteration;
    int rank, stage, mb;
    int forward;
    double start_s, end_s;
};

/* Bounds keep the casts defined; whether stage and micro-batch are within the
 * run's shape is asked by the caller, who knows it. */
static bool read_row(const struct csv *t, size_t row, struct op_row *r)
{
    double iteration, rank, stage, mb;
    const char *kind = csv_get(t, row, "kind");
    if (!kind || !csv_get_double(t, row, "iteration", &iteration) ||
        !csv_get_double(t, row, "rank", &rank) ||
        !csv_get_double(t, row, "stage", &stage) ||
        !csv_get_double(t, row, "mb", &mb) ||
        !csv_get_double(t, row, "start_s", &r->start_s) ||
        !csv_get_double(t, row, "end_s", &r->end_s))
        return false;
    r->forward = strcmp(kind, "forward") == 0;
    if (fabs(iteration) > 1e15 || fabs(rank) > 1e9 || fabs(stage) > 1e9 ||
        fabs(mb) > 1e9)
        return false;
    r->iteration = (int64_t)iteration;
    r->rank = (int)rank;
    r->stage = (int)stage;
    r->mb = (int)mb;
    return r->forward || strcmp(kind, "backward") == 0;
}

struct reading {
    struct arena *a;
    struct oplog_shape shape;
    struct oplog_step *steps;
    int n_steps;
    double *fwd, *bwd, *fwd_start, *bwd_start; // of the step being filled
};

/* One block for the four arrays of a step; NAN where an operation is missing.
 */
static bool open_step(struct reading *r, int64_t iteration)
{
    size_t n = (size_t)r->shape.n_stages * (size_t)r->shape.n_mb;
    r->fwd = arena_alloc(r->a, 4 * n, sizeof *r->fwd);
    if (!r->fwd)
        return false;
    for (size_t i = 0; i < 4 * n; i++)
        r->fwd[i] = NAN;
    r->bwd = r->fwd + n;
    r->fwd_start = r->bwd + n;
    r->bwd_start = r->fwd_start + n;
    r->steps[r->n_steps++] = (struct oplog_step){.iteration = iteration,
                                                 .fwd_s = r->fwd,
                                                 .bwd_s = r->bwd,
                                                 .fwd_start_s = r->fwd_start,
                                                 .bwd_start_s = r->bwd_start};
    return true;
}

/* Rows of one step stand together: the trainer writes them after it. */
static bool take_row(struct reading *r, const struct op_row *row)
{
    if (r->n_steps == 0 || r->steps[r->n_steps - 1].iteration != row->iteration)
        if (!open_step(r, row->iteration))
            return false;
    struct oplog_step *s = &r->steps[r->n_steps - 1];
    int at = row->stage * r->shape.n_mb + row->mb;
    (row->forward ? r->fwd : r->bwd)[at] = row->end_s - row->start_s;
    (row->forward ? r->fwd_start : r->bwd_start)[at] = row->start_s;
    // times count from the step's start on every rank
    s->span_s = fmax(s->span_s, row->end_s);
    return true;
}

/* By the first row: the format is a column of every row. */
static enum err check_table(const struct csv *t, struct err_msg *msg)
{
    const char *format = t->n_rows > 0 ? csv_get(t, 0, "format") : NULL;
    if (!format || strcmp(format, FORMAT) != 0)
        return err_set(msg, ERR_PARSE, "%s: format: got '%s', want '%s'",
                       t->where, format ? format : "nothing", FORMAT);
    return ERR_OK;
}

/* Of replicas of a stage only the first is taken: all do the same operations,
 * and ops.csv has the times of each. */
enum err oplog_read(struct arena *a, const char *path, struct oplog_shape shape,
                    struct oplog *out, struct err_msg *msg)
{
    struct csv t;
    enum err e = csv_read_file(a, path, &t, msg);
    if (e == ERR_OK)
        e = check_table(&t, msg);
    if (e != ERR_OK)
        return e;
    struct reading r = {.a = a, .shape = shape};
    r.steps = arena_alloc(a, t.n_rows + 1, sizeof *r.steps);
    if (!r.steps)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < t.n_rows; i++) {
        struct op_row row;
        if (!read_row(&t, i, &row) || row.stage < 0 ||
            row.stage >= shape.n_stages || row.mb < 0 || row.mb >= shape.n_mb)
            return err_set(msg, ERR_PARSE,
                           "%s: row %zu: want iteration, rank, stage 0 to %d, "
                           "mb 0 to %d, kind, start_s, end_s",
                           // rows of the file, with the header
                           path, i + 2, shape.n_stages - 1, shape.n_mb - 1);
        if (row.rank % shape.dp == 0 && !take_row(&r, &row))
            return err_set(msg, ERR_NOMEM, "%s: out of memory", path);
    }
    *out = (struct oplog){shape.n_stages, shape.n_mb, r.n_steps, r.steps};
    return ERR_OK;
}
