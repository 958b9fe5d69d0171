/*
 * How it works: three tables are read whole; each figure is one pass over the
 * rows whose source is a wall clock.
 */
#include "measured.h"

#include <math.h>
#include <unistd.h>

/* Older results lack tables; a table without rows answers nothing. */
static enum err read_table(struct arena *a, const char *dir, const char *name,
                           struct csv *out, struct err_msg *msg)
{
    const char *path = arena_printf(a, "%s/%s", dir, name);
    *out = (struct csv){.where = path};
    if (!path)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
    return access(path, F_OK) == 0 ? csv_read_file(a, path, out, msg) : ERR_OK;
}

/* Whole tables, since each figure asks for other rows of them. */
enum err measured_read(struct arena *a, const char *dir, struct measured *out,
                       struct err_msg *msg)
{
    struct measured m;
    enum err e = read_table(a, dir, "layouts.csv", &m.layouts, msg);
    if (e == ERR_OK)
        e = read_table(a, dir, "stages.csv", &m.stages, msg);
    if (e == ERR_OK)
        e = read_table(a, dir, "runs.csv", &m.runs, msg);
    if (e == ERR_OK)
        *out = m;
    return e;
}

/* Of a wall clock, with a step. */
static bool is_measured(const struct csv *t, size_t row)
{
    return csv_is(t, row, "source", "measured") &&
           csv_double(t, row, "meas_step_ms") > 0;
}

/* NAN where the role has no run by a wall clock. */
double measured_number(const struct measured *m, const char *role,
                       const char *column)
{
    for (size_t i = 0; i < m->layouts.n_rows; i++)
        if (is_measured(&m->layouts, i) && csv_is(&m->layouts, i, "role", role))
            return csv_double(&m->layouts, i, column);
    return NAN;
}

const char *measured_text(const struct measured *m, const char *role,
                          const char *column)
{
    for (size_t i = 0; i < m->layouts.n_rows; i++)
        if (is_measured(&m->layouts, i) && csv_is(&m->layouts, i, "role", role))
            return csv_get(&m->layouts, i, column);
    return NULL;
}

/* NAN where either was not measured. */
double measured_ratio(const struct measured *m, const char *over,
                      const char *under)
{
    return measured_number(m, over, "meas_step_ms") /
           measured_number(m, under, "meas_step_ms");
}

/* stages.csv does not say where its times come from; layouts.csv does. */
static bool any_measured(const struct measured *m)
{
    for (size_t i = 0; i < m->layouts.n_rows; i++)
        if (is_measured(&m->layouts, i))
            return true;
    return false;
}

/* Stages of an emulated run say nothing of memory on cards. */
double measured_memory_pct(const struct measured *m)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < m->stages.n_rows && any_measured(m); i++) {
        const double x = csv_double(&m->stages, i, "mem_error_pct");
        if (isfinite(x)) {
            sum += fabs(x);
            n++;
        }
    }
    return n > 0 ? sum / n : (double)NAN;
}

/* Also of runs that failed: they were paid for. */
double measured_cost_usd(const struct measured *m)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < m->runs.n_rows; i++) {
        const double x = csv_double(&m->runs, i, "cost_usd");
        if (csv_is(&m->runs, i, "source", "measured") && isfinite(x)) {
            sum += x;
            n++;
        }
    }
    return n > 0 ? sum : (double)NAN;
}

/* Of the pick to the fastest of all that were measured. */
double measured_gap_pct(const struct measured *m)
{
    double best = INFINITY;
    for (size_t i = 0; i < m->layouts.n_rows; i++)
        if (is_measured(&m->layouts, i))
            best = fmin(best, csv_double(&m->layouts, i, "meas_step_ms"));
    return 100 * (measured_number(m, "pick", "meas_step_ms") / best - 1);
}

/* The worst error beside that of the pick. */
double measured_others_pct(const struct measured *m)
{
    static const char *const roles[] = {"neighbour", "default", "count-based"};
    double most = NAN;
    for (size_t i = 0; i < m->layouts.n_rows; i++)
        for (size_t k = 0; k < sizeof roles / sizeof roles[0]; k++)
            if (is_measured(&m->layouts, i) &&
                csv_is(&m->layouts, i, "role", roles[k]))
                // fmax takes a number before NAN
                most = fmax(most,
                            fabs(csv_double(&m->layouts, i, "step_error_pct")));
    return most;
}
