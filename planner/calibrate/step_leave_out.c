#include "step_leave_out.h"

#include "step_system.h"

#include <math.h>
#include <string.h>

/* Solves without the configuration and adds the errors of its rows. */
static enum err leave_one(const struct step_work *from,
                          const struct step_fit *whole,
                          const struct observed *o, struct step_left_out *sum,
                          struct err_msg *msg)
{
    struct step_fit less = *whole;
    struct step_work work = *from, *const w = &work;
    struct lsq_solution sol;
    const size_t cells = (size_t)w->rows->n * (size_t)less.n_columns;
    work.f = &less;
    memcpy(w->design, whole->design, cells * sizeof *w->design);
    if (!step_system_choose(w))
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    const enum err e = step_system_solve(w, &sol, msg);
    if (e != ERR_OK || !step_fit_covers(&less, o))
        return e;
    for (int i = 0; i < w->rows->n; i++) {
        const double *row = w->design + (size_t)i * (size_t)less.n_columns;
        double step = whole->rest_s[i];
        if (w->rows->row[i].of != o)
            continue;
        for (int j = 0; j < less.n_columns; j++)
            step += row[j] * less.column[j].x;
        sum->mean += fabs(step / w->rows->row[i].meas_s - 1);
        sum->n++;
    }
    return ERR_OK;
}

/* Rows of one configuration leave together: one would tell the other. A group's
 * only configuration stays, for nothing would be left to give it a price. */
enum err step_fit_leave_out(struct arena *a, const struct step_rows *rows,
                            const struct step_fit *f, struct step_left_out *out,
                            struct err_msg *msg)
{
    bool *skip = arena_alloc(a, (size_t)rows->n + 1, sizeof *skip);
    struct step_work w = {.arena = a, .rows = rows, .skip = skip};
    struct step_left_out sum = {0, 0};
    const size_t cells = (size_t)rows->n * (size_t)f->n_columns;
    w.design = arena_alloc(a, cells + 1, sizeof *w.design);
    w.rest_s = arena_alloc(a, (size_t)rows->n + 1, sizeof *w.rest_s);
    if (!skip || !w.design || !w.rest_s)
        return err_set(msg, ERR_NOMEM, "steps: out of memory");
    memcpy(w.rest_s, f->rest_s, (size_t)rows->n * sizeof *w.rest_s);
    for (int i = 0; i < rows->n; i++) {
        const struct observed *o = rows->row[i].of;
        bool first = true, others = false;
        for (int k = 0; k < rows->n; k++) {
            skip[k] = rows->row[k].of == o;
            first = first && (k >= i || !skip[k]);
            others = others || (!skip[k] && rows->row[k].of->group == o->group);
        }
        const enum err e =
            first && others ? leave_one(&w, f, o, &sum, msg) : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    *out =
        (struct step_left_out){sum.n ? sum.mean / sum.n : (double)NAN, sum.n};
    return ERR_OK;
}
