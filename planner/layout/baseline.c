#include "baseline.h"

#include <string.h>

/* Writes a layout of one chunk a rank and out->pp ranks from the number of
 * layers of each stage: E first, all m and L on the last stage. */
static enum err from_counts(struct arena *a, const struct model *m,
                            const int *n_layers, struct layout *out,
                            struct err_msg *msg)
{
    const int pp = out->pp;
    struct layout l = {.pp = pp, .vpp = 1, .n_stages = pp};
    size_t longest = (size_t)(m->n_layers + m->n_mtp) + 3;
    l.units = arena_alloc(a, (size_t)pp, sizeof *l.units);
    char *text = arena_alloc(a, (size_t)pp, longest);
    if (!l.units || !text)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    for (int s = 0; s < pp; s++) {
        char *p = text + (size_t)s * longest;
        l.units[s] = p;
        if (s == 0)
            *p++ = 'E';
        memset(p, 't', (size_t)n_layers[s]);
        p += n_layers[s];
        if (s == pp - 1) {
            memset(p, 'm', (size_t)m->n_mtp);
            p[m->n_mtp] = 'L';
        }
    }
    *out = l;
    return ERR_OK;
}

/* --account-for-...: E and L count as one layer each, and have to divide. */
static enum err split_counted(const struct model *m, int pp, int *n,
                              struct err_msg *msg)
{
    const struct default_split *split = &m->split;
    int all = m->n_layers + split->count_embedding + split->count_loss;
    if (all % pp ||
        all / pp < split->count_embedding + (pp == 1) * split->count_loss)
        return err_set(msg, ERR_MODEL,
                       "Megatron refuses its default split: num_layers %d%s is "
                       "not divisible by pipeline_model_parallel_size %d",
                       m->n_layers,
                       all > m->n_layers ? " with the embedding or the loss "
                                           "accounted for"
                                         : "",
                       pp);
    for (int s = 0; s < pp; s++)
        n[s] = all / pp;
    n[0] -= split->count_embedding;
    n[pp - 1] -= split->count_loss;
    return ERR_OK;
}

/* --decoder-first/last-pipeline-num-layers: the ends are fixed, and the rest
 * has to divide. */
static enum err split_fixed(const struct model *m, int pp, int *n,
                            struct err_msg *msg)
{
    const struct default_split *split = &m->split;
    int first = split->first_layers, last = split->last_layers;
    int stages = pp - (first > 0) - (last > 0);
    int rest = m->n_layers - first - last;
    if (split->count_embedding || split->count_loss)
        return err_set(msg, ERR_MODEL,
                       "Megatron refuses its default split: layers fixed at "
                       "an end exclude --account-for-embedding-in-pipeline-"
                       "split and --account-for-loss-in-pipeline-split");
    if (stages < 1 || rest < 0 || rest % stages)
        return err_set(msg, ERR_MODEL,
                       "Megatron refuses its default split: the %d layers "
                       "between the fixed ends are not divisible by %d stages",
                       rest, stages);
    for (int s = 0; s < pp; s++)
        n[s] = rest / stages;
    n[0] = first ? first : n[0];
    n[pp - 1] = last ? last : n[pp - 1];
    return ERR_OK;
}

enum err baseline_default(struct arena *a, const struct model *m, int pp,
                          struct layout *out, struct err_msg *msg)
{
    int *n = arena_alloc(a, (size_t)pp, sizeof *n);
    if (!n)
        return err_set(msg, ERR_NOMEM, "layout: out of memory");
    out->pp = pp;
    bool fixed = m->split.first_layers || m->split.last_layers;
    enum err e =
        fixed ? split_fixed(m, pp, n, msg) : split_counted(m, pp, n, msg);
    return e == ERR_OK ? from_counts(a, m, n, out, msg) : e;
}

/* Deals the unit sequence E t..t m..m L out to out->pp stages of the given
 * sizes. */
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
 * parameters; what every stage takes is the most that fits. False when they
 * do not all fit. */
static bool fill_to(const struct model *m, int pp, int64_t limit, int *n_layers)
{
    int layer = 0;
    for (int s = 0; s < pp; s++) {
        int64_t held = s == 0 ? model_unit_params(m, KIND_E) : 0;
        if (s == pp - 1) {
            held += model_mtp_params(m) + model_unit_params(m, KIND_L);
            held += pp > 1 && m->tied ? m->padded_vocab * m->hidden : 0;
        }
        n_layers[s] = 0;
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
    int64_t lo = 0, hi = model_total_params(m) + model_mtp_params(m) +
                         m->padded_vocab * m->hidden;
    if (!fill_to(m, pp, hi, n))
        return err_set(msg, ERR_MODEL,
                       "parameter-balanced: %d layers for %d stages",
                       m->n_layers, pp);
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (fill_to(m, pp, mid, n))
            hi = mid;
        else
            lo = mid;
    }
    fill_to(m, pp, hi, n);
    out->pp = pp;
    return from_counts(a, m, n, out, msg);
}
