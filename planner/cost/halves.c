/*
 * How it works: a model has up to four kinds of layers and four halves. The
 * cheapest layer is split first, since nothing that it shares with another can
 * be more than that one; each other half then is the rest of one kind of layer,
 * so that measured sums stay. Where a layer shares no half with those (gated
 * delta net with MLPs, attention with experts) the next one is split.
 */
#include "halves.h"

#include <math.h>

bool cost_has_symbols(const struct cost *c)
{
    for (int k = 0; k < N_KINDS; k++)
        if (kind_is_symbol((enum unit_kind)k) && c->unit[k].known)
            return true;
    return false;
}

/* A kind of layer with the kinds of its two symbols. */
struct split_layer {
    enum unit_kind layer, mixer, mlp;
};

static int split_list(const struct model *gpt, const struct model *hybrid,
                      struct split_layer out[4])
{
    static const enum unit_kind layers[] = {KIND_T, KIND_T_DENSE, KIND_T_LEAN,
                                            KIND_T_DENSE_LEAN};
    int n = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < gpt->n_layers; i++)
            if (model_layer_kind(gpt, i) == layers[k]) {
                out[n++] = (struct split_layer){
                    layers[k], model_layer_kind(hybrid, 2 * i),
                    model_layer_kind(hybrid, 2 * i + 1)};
                break;
            }
    return n;
}

/* The cheapest of the layers whose halves are both open; NULL: none is. */
static const struct split_layer *split_cheapest(const struct split_layer *s,
                                                int n, const struct cost *c)
{
    const struct split_layer *least = NULL;
    double least_s = INFINITY;
    for (int i = 0; i < n; i++) {
        const struct unit_cost *x = &c->unit[s[i].layer];
        if (c->unit[s[i].mixer].known || c->unit[s[i].mlp].known ||
            !(x->fwd_s + x->bwd_s < least_s))
            continue;
        least = &s[i];
        least_s = x->fwd_s + x->bwd_s;
    }
    return least;
}

/* `share` of a layer's cost. */
static struct unit_cost share_of(const struct unit_cost *layer, double share)
{
    return (struct unit_cost){true, share * layer->fwd_s, share * layer->fwd_se,
                              share * layer->bwd_s, share * layer->bwd_se};
}

/* What the other half leaves of a layer. */
static struct unit_cost rest_of(const struct unit_cost *layer,
                                const struct unit_cost *half)
{
    struct unit_cost rest = *layer;
    rest.fwd_s -= half->fwd_s;
    rest.bwd_s -= half->bwd_s;
    const double share = layer->fwd_s > 0 ? rest.fwd_s / layer->fwd_s : 1;
    rest.fwd_se *= share;
    rest.bwd_se *= share;
    return rest;
}

/* Fixes the half that is not known yet by the one that is; with a pass for each
 * kind of layer every half gets its turn. */
static void split_rests(const struct split_layer *s, int n, struct cost *c)
{
    for (int pass = 0; pass < n; pass++)
        for (int i = 0; i < n; i++) {
            const struct unit_cost *layer = &c->unit[s[i].layer];
            struct unit_cost *mixer = &c->unit[s[i].mixer];
            struct unit_cost *mlp = &c->unit[s[i].mlp];
            if (mlp->known && !mixer->known)
                *mixer = rest_of(layer, mlp);
            else if (mixer->known && !mlp->known)
                *mlp = rest_of(layer, mixer);
        }
}

static enum err split_check(const struct split_layer *s, int n,
                            const struct cost *c, struct err_msg *msg)
{
    for (int i = 0; i < n; i++) {
        const enum unit_kind halves[] = {s[i].mixer, s[i].mlp};
        for (int h = 0; h < 2; h++)
            if (!(c->unit[halves[h]].fwd_s >= 0) ||
                !(c->unit[halves[h]].bwd_s >= 0))
                return err_set(msg, ERR_MODEL,
                               "costs of layers cannot be split: '%s' of '%s' "
                               "comes out below 0: profile the pattern "
                               "(profile-layouts --hybrid, then fit)",
                               kind_name(halves[h]), kind_name(s[i].layer));
    }
    return ERR_OK;
}

enum err cost_split_layers(const struct cost *c, const struct model *gpt,
                           const struct model *hybrid, struct cost *out,
                           struct err_msg *msg)
{
    struct split_layer s[4];
    struct cost to = *c;
    const int n = split_list(gpt, hybrid, s);
    const struct split_layer *least;
    // layers that share no half with another are split one by one
    while ((least = split_cheapest(s, n, &to))) {
        const double share = model_unit_fwd_flops(hybrid, least->mlp) /
                             model_unit_fwd_flops(gpt, least->layer);
        to.unit[least->mlp] = share_of(&c->unit[least->layer], share);
        split_rests(s, n, &to);
    }
    for (int i = 0; i < n; i++) {
        to.unit[s[i].layer].known = false;
        to.rules.unit_more[s[i].mixer] = c->rules.unit_more[s[i].layer];
        to.rules.unit_more[s[i].mlp] = c->rules.unit_more[s[i].layer];
    }
    enum err e = split_check(s, n, &to, msg);
    if (e == ERR_OK)
        *out = to;
    return e;
}
