#include "overlap.h"

#include "graph.h"

#include <string.h>

static bool is_moe(char layer)
{
    return layer != 'd';
}

double overlap_saving(const char *fwd_layers, const char *bwd_layers,
                      const struct overlap_save *save)
{
    const size_t n_fwd = strlen(fwd_layers), n_bwd = strlen(bwd_layers);
    double saved = 0;
    for (size_t k = 0; k < n_fwd && k < n_bwd; k++) {
        const bool f = is_moe(fwd_layers[k]);
        const bool b = is_moe(bwd_layers[n_bwd - 1 - k]);
        saved += f && b ? save->both_s
                 : f    ? save->forward_s
                 : b    ? save->backward_s
                        : 0;
    }
    return saved;
}

static double pair_mid(const struct overlap_stages *in, int fwd, int bwd)
{
    const struct sim_combined *p = in->parts;
    double f = in->fwd_s[fwd], b = in->bwd_s[bwd];
    if (p && p->head_fwd_s) {
        f -= p->head_fwd_s[fwd] + p->tail_fwd_s[fwd];
        b -= p->head_bwd_s[bwd] + p->tail_bwd_s[bwd];
    }
    const double mid =
        f + b - overlap_saving(in->layers[fwd], in->layers[bwd], &in->save);
    return mid > 0 ? mid : 0;
}

void overlap_mid(const struct schedule *s, const struct overlap_stages *in,
                 double *mid_s)
{
    for (int r = 0; r < s->pp; r++)
        for (int f = 0; f < s->vpp; f++)
            for (int b = 0; b < s->vpp; b++)
                mid_s[graph_pair(s, r, f, b)] =
                    pair_mid(in, f * s->pp + r, b * s->pp + r);
}
