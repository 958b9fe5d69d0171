#include "step_prices.h"

const double STEP_FIT_NOISE = 0.01;

static bool step_has(const struct step_fit *f, enum observed_term t)
{
    return f->options.terms >> t & 1U;
}

/* ---- unknowns ---- */

static void add_column(struct step_fit *f, enum step_column_kind kind,
                       int group, enum unit_kind unit)
{
    if (f->n_columns < LSQ_MAX_COLS)
        f->column[f->n_columns] =
            (struct step_column){.kind = kind, .group = group, .unit = unit};
    f->n_columns++;
}

/* Is the group's constant asked for, by the chunks of its runs? */
static bool wants_constant(const struct step_fit *f,
                           const struct step_rows *rows, int group)
{
    for (int i = 0; i < rows->n; i++) {
        const struct observed *o = rows->row[i].of;
        if (o->group == group &&
            step_has(f, o->layout.vpp > 1 ? OBSERVED_CONSTANT : OBSERVED_START))
            return true;
    }
    return false;
}

static bool group_has_rows(const struct step_rows *rows, int group)
{
    for (int i = 0; i < rows->n; i++)
        if (rows->row[i].of->group == group)
            return true;
    return false;
}

/* An embedding hardly shows: last. */
static const enum unit_kind free_order[] = {
    KIND_L,         KIND_M,      KIND_T_DENSE, KIND_MAMBA, KIND_DELTA,
    KIND_ATTENTION, KIND_LATENT, KIND_SPARSE,  KIND_MLP,   KIND_EXPERTS};
enum { N_FREE_ORDER = sizeof free_order / sizeof free_order[0] };

enum err step_prices_list(struct step_fit *f, const struct step_rows *rows,
                          struct err_msg *msg)
{
    for (int g = 0; g < rows->n_groups; g++)
        if (group_has_rows(rows, g))
            add_column(f, STEP_COLUMN_UNIT, g, KIND_T);
    for (int i = 0; i < N_FREE_ORDER; i++)
        if (f->options.free[free_order[i]])
            add_column(f, STEP_COLUMN_FREE, -1, free_order[i]);
    if (step_has(f, OBSERVED_DP))
        add_column(f, STEP_COLUMN_DP, -1, KIND_T);
    for (int g = 0; g < rows->n_groups; g++)
        if (wants_constant(f, rows, g))
            add_column(f, STEP_COLUMN_CONSTANT, g, KIND_T);
    if (step_has(f, OBSERVED_OPTIMIZER))
        add_column(f, STEP_COLUMN_OPTIMIZER, -1, KIND_T);
    if (f->options.free[KIND_E])
        add_column(f, STEP_COLUMN_FREE, -1, KIND_E);
    if (f->n_columns > LSQ_MAX_COLS)
        return err_set(msg, ERR_MODEL,
                       "steps: %d unknowns, want at most %d: fit fewer groups "
                       "at once",
                       f->n_columns, (int)LSQ_MAX_COLS);
    return ERR_OK;
}

const struct step_column *step_prices_find(const struct step_fit *f,
                                           enum step_column_kind kind,
                                           int group, enum unit_kind unit)
{
    for (int j = 0; j < f->n_columns; j++) {
        const struct step_column *c = &f->column[j];
        if (c->kind == kind && c->group == group && c->unit == unit)
            return c;
    }
    return NULL;
}

static double step_value(const struct step_column *c)
{
    return c ? c->x : 0;
}

bool step_fit_covers(const struct step_fit *f, const struct observed *o)
{
    const struct step_column *unit =
        step_prices_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
    return unit && unit->used && unit->x > 0;
}

/* Seconds an operation of the kind, and its error. */
static double rate_of(const struct step_fit *f, const struct observed *o,
                      enum unit_kind k, double *se)
{
    const enum unit_kind base = observed_base(o);
    const struct step_column *own =
        step_prices_find(f, STEP_COLUMN_FREE, -1, k);
    const struct step_column *unit =
        step_prices_find(f, STEP_COLUMN_UNIT, o->group, KIND_T);
    *se = 0;
    if (own && own->used && k != base) {
        *se = own->se;
        return own->x;
    }
    if (!unit || k == KIND_E || (k == KIND_L && !step_has(f, OBSERVED_OUTPUT)))
        return 0;
    *se = unit->se / o->size[base];
    return unit->x / o->size[base];
}

/* A price that was not fitted counts as 0, but for units, which take their
 * group's. */
void step_fit_prices(const struct step_fit *f, const struct observed *o,
                     struct observed_prices *out, double fwd_se[N_KINDS])
{
    *out = (struct observed_prices){{0}, 0, 0, 0};
    for (int k = 0; k < N_KINDS; k++) {
        double se = 0;
        if (o->size[k] > 0)
            out->fwd_s[k] = o->size[k] * rate_of(f, o, (enum unit_kind)k, &se);
        if (fwd_se)
            fwd_se[k] = o->size[k] * se;
    }
    out->dp_s_per_byte =
        step_value(step_prices_find(f, STEP_COLUMN_DP, -1, KIND_T));
    out->optimizer_s_per_byte =
        step_value(step_prices_find(f, STEP_COLUMN_OPTIMIZER, -1, KIND_T));
    if (step_has(f, o->layout.vpp > 1 ? OBSERVED_CONSTANT : OBSERVED_START))
        out->constant_s = step_value(
            step_prices_find(f, STEP_COLUMN_CONSTANT, o->group, KIND_T));
}

enum err step_fit_step(const struct step_fit *f, struct observed *o,
                       double *step_s, struct err_msg *msg)
{
    struct observed_prices p;
    step_fit_prices(f, o, &p, NULL);
    return observed_step(o, &p, step_s, msg);
}
/* Does the unknown have a part in this configuration's step? */
bool step_prices_is_of(const struct step_column *c, const struct observed *o)
{
    if (c->group >= 0 && c->group != o->group)
        return false;
    return c->kind != STEP_COLUMN_FREE ||
           (o->size[c->unit] > 0 && c->unit != observed_base(o));
}
