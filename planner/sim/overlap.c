#include "overlap.h"

#include "graph.h"

#include <string.h>

/* An MTP layer is a decoder layer with experts where the model has any. */
static bool is_moe(char layer)
{
    return layer != 'd';
}

/* Layers meet in the order in which they run: the forward's first with the
 * backward's first, which is its last layer. A layer has the exchange of its
 * experts hidden behind the other's computing where it has experts. */
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

/* What Megatron runs between the parts: forward's and backward's layers in
 * pairs, and what is left over of either alone. */
static double pair_mid(const struct overlap_stages *in, int fwd, int bwd,
                       double saved)
{
    const struct sim_combined *p = in->parts;
    double f = in->fwd_s[fwd], b = in->bwd_s[bwd];
    if (p && p->head_fwd_s) {
        f -= p->head_fwd_s[fwd] + p->tail_fwd_s[fwd];
        b -= p->head_bwd_s[bwd] + p->tail_bwd_s[bwd];
    }
    const double mid = f + b - saved;
    return mid > 0 ? mid : 0;
}

void overlap_mid(const struct schedule *s, const struct overlap_stages *in,
                 double *mid_s, double *saved_s)
{
    for (int r = 0; r < s->pp; r++)
        for (int f = 0; f < s->vpp; f++)
            for (int b = 0; b < s->vpp; b++) {
                const int fwd = f * s->pp + r, bwd = b * s->pp + r;
                const int pair = graph_pair(s, r, f, b);
                const double saved =
                    overlap_saving(in->layers[fwd], in->layers[bwd], &in->save);
                mid_s[pair] = pair_mid(in, fwd, bwd, saved);
                if (saved_s)
                    saved_s[pair] = saved;
            }
}

/* ---- of a layout ---- */

struct overlap_times {
    const struct schedule *schedule;
    double *mid_s, *saved_s, *head_fwd_s, *tail_fwd_s, *head_bwd_s, *tail_bwd_s;
    char *letters;       // of all layers, each stage ending with a 0
    const char **layers; // [stage], into letters
    struct sim_combined combined;
};

struct overlap_times *overlap_times_new(struct arena *a,
                                        const struct schedule *s,
                                        const struct model *m)
{
    const size_t n = (size_t)s->pp * (size_t)s->vpp;
    const size_t layers = (size_t)(m->n_layers + m->n_mtp);
    struct overlap_times *t = arena_alloc(a, 1, sizeof *t);
    double *times = arena_alloc(a, n * (4 + 2 * (size_t)s->vpp), sizeof *times);
    if (!t || !times)
        return NULL;
    t->schedule = s;
    t->letters = arena_alloc(a, n + layers, 1);
    t->layers = arena_alloc(a, n, sizeof *t->layers);
    t->head_fwd_s = times;
    t->tail_fwd_s = times + n;
    t->head_bwd_s = times + 2 * n;
    t->tail_bwd_s = times + 3 * n;
    t->mid_s = times + 4 * n;
    t->saved_s = t->mid_s + n * (size_t)s->vpp;
    return t->letters && t->layers ? t : NULL;
}

/* moe-train does a forward, then a backward, and sends after both: its
 * outputs leave behind head and loss, Megatron's in front of them. */
bool overlap_has_parts(const struct cost *c)
{
    return c->rules.trainer != TRAINER_MOE_TRAIN;
}

/* Writes decoder layers of a stage and then MTP's as letters; returns where
 * the next stage's begin. */
static char *put_letters(const struct overlap_layout *of, int stage, char *out)
{
    const struct layout_counts c = layout_stage(of->layout, stage);
    const int first = layout_first_layer(of->layout, stage);
    const bool moe = of->model->n_experts > 0;
    for (int i = 0; i < c.n_layers; i++) {
        const bool dense =
            kind_is_dense(model_layer_kind(of->model, first + i));
        *out++ = moe && !dense ? 'e' : 'd';
    }
    for (int i = 0; i < c.n_mtp; i++)
        *out++ = moe ? 'm' : 'd';
    *out++ = '\0';
    return out;
}

const struct sim_combined *overlap_times_set(struct overlap_times *t,
                                             const struct overlap_layout *of)
{
    const struct unit_cost *unit = of->cost->unit;
    const int n = t->schedule->pp * t->schedule->vpp;
    char *at = t->letters;
    for (int s = 0; s < n; s++) {
        const struct layout_counts c = layout_stage(of->layout, s);
        t->head_fwd_s[s] = c.n_embedding * unit[KIND_E].fwd_s;
        t->tail_fwd_s[s] = c.n_loss * unit[KIND_L].fwd_s;
        t->head_bwd_s[s] = c.n_loss * unit[KIND_L].bwd_s;
        t->tail_bwd_s[s] = c.n_embedding * unit[KIND_E].bwd_s;
        t->layers[s] = at;
        at = put_letters(of, s, at);
    }
    const bool parts = overlap_has_parts(of->cost);
    t->combined =
        parts
            ? (struct sim_combined){t->mid_s,      t->head_fwd_s, t->tail_fwd_s,
                                    t->head_bwd_s, t->tail_bwd_s, t->saved_s}
            : (struct sim_combined){.mid_s = t->mid_s, .saved_s = t->saved_s};
    const struct overlap_stages stages = {.fwd_s = of->fwd_s,
                                          .bwd_s = of->bwd_s,
                                          .parts = parts ? &t->combined : NULL,
                                          .layers = t->layers,
                                          .save = of->save};
    overlap_mid(t->schedule, &stages, t->mid_s, t->saved_s);
    return &t->combined;
}
