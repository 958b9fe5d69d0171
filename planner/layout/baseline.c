#include "baseline.h"

#include <string.h>

/* Deals the unit sequence E t..t m..m L out to out->pp stages of the given
 * sizes; only the order is kept, E or m may share a stage with anything. */
static enum err from_sizes(struct arena *a, const struct model *m,
                           const int *sizes, struct layout *out,
                           struct err_msg *msg)
{
    const int pp = out->pp;
    size_t n = (size_t)(m->n_layers + m->n_mtp) + 2;
    char *units = arena_alloc(a, n + 1, 1);
    struct layout l = {.pp = pp, .vpp = 1, .n_stages = pp};
    l.units = arena_alloc(a, (size_t)pp, sizeof *l.units);
    if (!units || !l.units)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    memset(units, 't', n);
    units[0] = 'E';
    memset(units + 1 + m->n_layers, 'm', (size_t)m->n_mtp);
    units[n - 1] = 'L';
    for (int s = 0; s < pp; s++) {
        l.units[s] = arena_strndup(a, units, (size_t)sizes[s]);
        if (!l.units[s])
            return err_set(msg, ERR_NOMEM, "layout: out of memory");
        units += sizes[s];
    }
    *out = l;
    return ERR_OK;
}

/* The rule of Megatron Lite may deal m out to two stages, which Megatron
 * refuses: the result is checked. */
enum err baseline_count_based(struct arena *a, const struct model *m, int pp,
                              struct layout *out, struct err_msg *msg)
{
    int n = m->n_layers + m->n_mtp + 2;
    if (n < pp)
        return err_set(msg, ERR_MODEL,
                       "count-based rule: %d units for %d stages leave a "
                       "stage empty",
                       n, pp);
    int *sizes = arena_alloc(a, (size_t)pp, sizeof *sizes);
    if (!sizes)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    out->pp = pp;
    for (int s = 0; s < pp; s++)
        sizes[s] = n / pp + (s < n % pp);
    enum err e = from_sizes(a, m, sizes, out, msg);
    if (e == ERR_OK)
        e = layout_validate(out, m->n_layers, m->n_mtp, msg) == LAYOUT_OK
                ? ERR_OK
                : err_prefix(msg, ERR_MODEL, "count-based rule");
    return e;
}

/* Layers each stage can take when no stage may hold more than `limit`
 * parameters; what every stage takes is the most that fits. False when they do
 * not all fit. Taking the most from the front is optimal for stages in a row: a
 * stage that takes less only leaves more to the others. */
static bool fill_to(const struct model *m, int pp, int64_t limit, int *n_layers)
{
    int layer = 0;
    for (int s = 0; s < pp; s++) {
        int64_t held = s == 0 ? model_unit_params(m, KIND_E) : 0;
        if (s == pp - 1) {
            held += model_mtp_params(m) + model_unit_params(m, KIND_L);
            // the loss head of a tied model is a copy of the token table
            held += pp > 1 && m->tied ? m->padded_vocab * m->hidden : 0;
        }
        n_layers[s] = 0;
        // one for each stage between, none for the last, which has m and L
        int must_leave = pp - 1 - s; // layers for the stages after this one
        while (layer < m->n_layers - (s < pp - 1 ? must_leave - 1 : 0)) {
            int64_t more = model_unit_params(m, model_layer_kind(m, layer));
            if (held + more > limit)
                break;
            held += more;
            n_layers[s]++;
            layer++;
        }
        if (held > limit)
            return false;
    }
    return layer == m->n_layers;
}

enum err baseline_parameter_balanced(struct arena *a, const struct model *m,
                                     int pp, struct layout *out,
                                     struct err_msg *msg)
{
    int *n = arena_alloc(a, (size_t)pp, sizeof *n);
    if (!n)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    // everything on one stage: fits unless layers are too few for the stages
    int64_t lo = 0, hi = model_total_params(m) + model_mtp_params(m) +
                         m->padded_vocab * m->hidden;
    if (!fill_to(m, pp, hi, n))
        return err_set(msg, ERR_MODEL,
                       "parameter-balanced: %d layers for %d stages",
                       m->n_layers, pp);
    // the lightest limit that all layers fit under, by bisection
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (fill_to(m, pp, mid, n))
            hi = mid;
        else
            lo = mid;
    }
    fill_to(m, pp, hi, n);
    struct layout l = {.pp = pp, .vpp = 1, .n_stages = pp};
    enum err e = layout_from_counts(a, n, m->n_mtp, &l, msg);
    if (e == ERR_OK)
        *out = l;
    return e;
}
