/*
 * How it works: the parameters of a graph stand in one row, kind after kind;
 * a weight is up to four places in that row. Weights are looked up by kind
 * and index in a table of small numbers, so that equal edges share one.
 */
#include "graph_weights.h"

/* Which parameters a kind of weight is a sum of; GRAPH_NONE is 0. */
static const enum graph_kind terms[N_WEIGHT_KINDS][4] = {
    [W_FWD] = {GRAPH_FWD},
    [W_FWD_IN] = {GRAPH_FWD, GRAPH_TRANSFER},
    [W_BWD] = {GRAPH_BWD},
    [W_BWD_IN] = {GRAPH_BWD, GRAPH_TRANSFER},
    [W_MID] = {GRAPH_MID},
    [W_MID_IN] = {GRAPH_MID, GRAPH_TRANSFER},
    [W_OPS] = {GRAPH_FWD, GRAPH_BWD, GRAPH_SAVED},
    [W_OPS_IN] = {GRAPH_FWD, GRAPH_BWD, GRAPH_SAVED, GRAPH_TRANSFER},
    [W_HEAD_FWD] = {GRAPH_HEAD_FWD},
    [W_HEAD_FWD_IN] = {GRAPH_HEAD_FWD, GRAPH_TRANSFER},
    [W_HEAD_BWD] = {GRAPH_HEAD_BWD},
    [W_HEAD_BWD_IN] = {GRAPH_HEAD_BWD, GRAPH_TRANSFER},
    [W_TAILS] = {GRAPH_TAIL_FWD, GRAPH_TAIL_BWD},
    [W_TRANSFER] = {GRAPH_TRANSFER},
    [W_SHAPE] = {GRAPH_SHAPE},
    [W_SYNC] = {GRAPH_SYNC},
};

/* Numbers of parameters by kind. */
static void count_params(const struct schedule *s, const struct graph *g,
                         int counts[N_GRAPH_KINDS])
{
    const bool ops = g->options.per_operation;
    const int n = g->n_stages, of_work = ops ? n * g->n_mb : n;
    const int parts = g->options.parts ? n : 0;
    const int pairs = s->order.ep_overlap ? n * s->vpp : 0;
    counts[GRAPH_NONE] = 1;
    counts[GRAPH_FWD] = counts[GRAPH_BWD] = of_work;
    counts[GRAPH_TRANSFER] = n;
    counts[GRAPH_MID] = ops ? 0 : pairs;
    counts[GRAPH_SAVED] = ops ? pairs : 0;
    counts[GRAPH_HEAD_FWD] = counts[GRAPH_TAIL_FWD] = parts;
    counts[GRAPH_HEAD_BWD] = counts[GRAPH_TAIL_BWD] = parts;
    counts[GRAPH_SHAPE] = counts[GRAPH_SYNC] = 1;
}

enum err weights_init(struct arena *a, const struct schedule *s,
                      struct graph *g, struct weights *out)
{
    int counts[N_GRAPH_KINDS];
    *out = (struct weights){.graph = g, .room = 1};
    count_params(s, g, counts);
    for (int k = 0; k < N_GRAPH_KINDS; k++) {
        g->param_base[k] = g->n_params;
        g->n_params += counts[k];
    }
    const int work = counts[GRAPH_FWD], n = g->n_stages;
    const int mid = counts[GRAPH_MID];
    // an input's edge is told from the other input's of the same operation
    const int sizes[N_WEIGHT_KINDS] = {
        [W_FWD] = work,         [W_FWD_IN] = work,
        [W_BWD] = work,         [W_BWD_IN] = work,
        [W_MID] = mid,          [W_MID_IN] = 2 * mid,
        [W_OPS] = work,         [W_OPS_IN] = 2 * work,
        [W_HEAD_FWD] = n,       [W_HEAD_FWD_IN] = n,
        [W_HEAD_BWD] = n,       [W_HEAD_BWD_IN] = n,
        [W_TAILS] = n * s->vpp, [W_TRANSFER] = n,
        [W_SHAPE] = 1,          [W_SYNC] = 1};
    for (int k = 0; k < N_WEIGHT_KINDS; k++)
        out->room += sizes[k];
    int *all = arena_alloc(a, (size_t)out->room, sizeof *all);
    g->weights = arena_alloc(a, (size_t)out->room, sizeof *g->weights);
    if (!all || !g->weights)
        return ERR_NOMEM;
    for (int k = 0; k < N_WEIGHT_KINDS; all += sizes[k++])
        out->of[k] = all;
    // a weight is never the zeroth, so 0 in a table means not made yet
    g->n_weights = 1; // W_ZERO: four times the parameter that is 0
    return ERR_OK;
}

int weights_get(struct weights *w, const struct weight_key *key)
{
    struct graph *g = w->graph;
    int *at = &w->of[key->kind][key->i];
    if (*at != W_ZERO)
        return *at;
    struct graph_weight *sum = &g->weights[g->n_weights];
    for (int t = 0; t < 4; t++) {
        enum graph_kind kind = terms[key->kind][t];
        sum->param[t] = graph_param(g, kind, key->index[kind]);
    }
    *at = g->n_weights++;
    return *at;
}

int graph_param(const struct graph *g, enum graph_kind kind, int i)
{
    return g->param_base[kind] + i;
}

int graph_n_params(const struct graph *g)
{
    return g->n_params;
}
