#include "outside.h"

#include "model/weights.h"

#include <math.h>

/* Trained parameters of a pipeline rank, over all ranks that share it. */
struct outside_params {
    double shared, experts;
};

static void outside_add(const struct model *m, enum unit_kind kind, int count,
                        struct outside_params *to)
{
    struct weights t;
    if (count == 0)
        return;
    weights_of_unit(m, kind, &WEIGHTS_WHOLE, &t);
    for (int i = 0; i < t.n; i++) {
        const struct weight *w = &t.row[i];
        const double n = (double)weight_params(w) * count;
        if (WEIGHT_USE[w->role].trained)
            *(w->expert ? &to->experts : &to->shared) += n;
    }
}

/* All chunks of the rank; a tied output layer away from the embedding has a
 * table of its own to reduce. */
static struct outside_params outside_params_of(const struct model *m,
                                               const struct layout *l, int rank)
{
    struct outside_params p = {0, 0};
    int all[N_KINDS] = {0};
    for (int s = rank; s < l->n_stages; s += l->pp) {
        int counts[N_KINDS];
        layout_stage_kinds(l, m, s, counts);
        for (int k = 0; k < N_KINDS; k++)
            all[k] += counts[k];
    }
    for (int k = 0; k < N_KINDS; k++)
        outside_add(m, (enum unit_kind)k, all[k], &p);
    if (m->tied && all[KIND_L] && !all[KIND_E]) {
        const struct weight table = weights_token_table(m, &WEIGHTS_WHOLE);
        p.shared += (double)weight_params(&table);
    }
    return p;
}

/* Of parameters that `share` ranks hold together and `replicas` such groups
 * have: how many times their number leaves a node. Up to node/share groups lie
 * on one node; a group wider than a node leaves each node its part. */
static double traffic(double share, double replicas, double node)
{
    const double inside = fmin(replicas, fmax(1, floor(node / share)));
    const double n = replicas / inside;
    return n > 1 ? 2 * (n - 1) / n * fmin(1, node / share) : 0;
}

double outside_dp_bytes(const struct model *m, const struct layout *l, int rank,
                        int gpus_per_node)
{
    const struct parallel *p = &m->par;
    const double ranks = (double)p->tp * p->cp * p->dp;
    const double experts = (double)p->ep * p->etp;
    const int grad = m->memory.grad_bytes > 0 ? m->memory.grad_bytes
                                              : MEMORY_MEGATRON.grad_bytes;
    if (gpus_per_node <= 0)
        return 0;
    const struct outside_params n = outside_params_of(m, l, rank);
    return grad *
           (n.shared * traffic(p->tp, ranks / p->tp, gpus_per_node) +
            n.experts * traffic(experts, ranks / experts, gpus_per_node));
}

/* A rank's forwards and backwards of one micro-batch, all its chunks. */
static struct cost_times rank_times(const struct cost *c, const struct model *m,
                                    const struct layout *l, int rank)
{
    struct cost_times sum = {0, 0};
    for (int s = rank; s < l->n_stages; s += l->pp) {
        const struct cost_times t = cost_stage(c, m, l, s);
        sum.fwd_s += t.fwd_s;
        sum.bwd_s += t.bwd_s;
    }
    return sum;
}

double outside_dp_s(const struct cost *c, const struct model *m,
                    const struct layout *l)
{
    double most = 0;
    if (c->dp.s_per_byte <= 0)
        return 0;
    for (int r = 0; r < l->pp; r++) {
        const double half = c->dp.s_per_byte / 2 *
                            outside_dp_bytes(m, l, r, c->dp.gpus_per_node);
        const struct cost_times beside = rank_times(c, m, l, r);
        const bool reduce = m->memory.overlap_grad_reduce;
        const bool gather = m->memory.overlap_param_gather;
        most = fmax(most, fmax(0, half - (reduce ? beside.bwd_s : 0)) +
                              fmax(0, half - (gather ? beside.fwd_s : 0)));
    }
    return most;
}
