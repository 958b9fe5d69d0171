/*
 * How it works: a pass is a list of matrix products, of bytes that are moved or
 * sent, and of kernels. Each takes what the card's data sheet promises times a
 * constant for what is really reached; the constants are fitted to public step
 * times, and a card is a row of the table in card.c.
 */
#include "roofline.h"

#include <math.h>

static const struct {
    const char *name;
    double least;
    const char *help;
} prices[N_ROOFLINE] = {
#define ROOFLINE_ROW(id, name, least, help) {name, least, help},
    ROOFLINE_TABLE(ROOFLINE_ROW)
#undef ROOFLINE_ROW
};

/* Made by `moe-bench roofline --rows ...` on the `fit` rows of the public step
 * times that results/reference/roofline/errors.csv lists, with the errors that
 * they leave; a test compares the two. Some of these rows (MLPerf v4.1) have no
 * licence under which they could be kept here. */
const struct roofline ROOFLINE_FITTED = {{
    [ROOFLINE_PRODUCT] = 1.607,
    [ROOFLINE_FP8] = 1.544,
    [ROOFLINE_EXPERTS] = 1.739,
    [ROOFLINE_ODD] = 1.594,
    [ROOFLINE_BYTES] = 1 / 0.95,
    [ROOFLINE_KERNEL] = 2.757e-05,
    [ROOFLINE_NETWORK] = 0.5713,
}};

const char *roofline_name(enum roofline_price p)
{
    return prices[p].name;
}

const char *roofline_help(enum roofline_price p)
{
    return prices[p].help;
}

double roofline_least(enum roofline_price p)
{
    return prices[p].least;
}

/* The roofline of a product: the longer of its arithmetic and its bytes. */
static double product_s(const struct roofline *r, const struct card *c,
                        const struct work_product *p)
{
    double s = p->fp8 ? r->price[ROOFLINE_FP8] * p->flops / c->flops8
                      : r->price[ROOFLINE_PRODUCT] * p->flops / c->flops16;
    if (p->expert)
        s *= r->price[ROOFLINE_EXPERTS];
    if (p->odd)
        s *= r->price[ROOFLINE_ODD];
    return fmax(s, r->price[ROOFLINE_BYTES] * p->bytes / c->hbm_bytes_s);
}

/* Ranks of a group that fit into a domain of cards use its links; what is
 * beyond goes over the network, to the same share of the ranks. */
static double routed_s(const struct card *c, const struct parallel *par,
                       double bytes)
{
    const double ranks = (double)par->ep * par->etp;
    const double inside = fmin(1, c->domain / ranks);
    return bytes * (inside / c->link_bytes_s + (1 - inside) / c->net_bytes_s);
}

double roofline_pass_s(const struct roofline *r, const struct card *c,
                       const struct parallel *par, const struct work_pass *w)
{
    double s = 0;
    for (int i = 0; i < w->n_products; i++)
        s += product_s(r, c, &w->product[i]);
    const double link_s =
        w->sent_bytes / c->link_bytes_s + routed_s(c, par, w->routed_bytes);
    return s +
           r->price[ROOFLINE_BYTES] *
               (w->moved_bytes / c->hbm_bytes_s + link_s) +
           r->price[ROOFLINE_KERNEL] * w->n_kernels;
}

void roofline_costs(const struct roofline *r, const struct card *card,
                    const struct model *m, struct cost *out)
{
    *out = (struct cost){.source = COST_ANALYTIC, .rules = MEMORY_MEGATRON};
    for (int k = 0; k < N_KINDS; k++) {
        struct work w;
        if (model_unit_count(m, (enum unit_kind)k) == 0)
            continue;
        work_of_unit(m, (enum unit_kind)k, &w);
        out->unit[k] = (struct unit_cost){
            .known = true,
            .fwd_s = roofline_pass_s(r, card, &m->par, &w.forward),
            .bwd_s = roofline_pass_s(r, card, &m->par, &w.backward)};
    }
}

/* A cost a kind cannot say which layers of a stage run their forward twice. */
enum err roofline_check(const struct model *m, const char *where,
                        struct err_msg *msg)
{
    if (m->memory.full_recompute == RECOMPUTE_BLOCK)
        return err_set(msg, ERR_MODEL,
                       "%s: recompute by blocks: layers of one kind then cost "
                       "differently: use the uniform method, or profile",
                       where);
    return ERR_OK;
}
