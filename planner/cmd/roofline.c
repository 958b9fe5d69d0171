#include "roofline.h"

#include "base/writer.h"
#include "cost/roofline.h"

#include <math.h>
#include <stdio.h>

/* NULL for a name that roofline_of_option() refused. */
static const struct card *card_of(const struct cmd *c)
{
    const struct card *card = NULL;
    struct err_msg ignored;
    card_find(c->option[OPT_ROOFLINE], "--roofline", &card, &ignored);
    return card;
}

enum err roofline_of_option(struct cmd *c, const struct model *m,
                            struct cost *out)
{
    const struct roofline *r = &ROOFLINE_FITTED;
    const struct card *card;
    enum err e =
        card_find(c->option[OPT_ROOFLINE], "--roofline", &card, &c->msg);
    if (e == ERR_OK)
        e = roofline_check(m, "--roofline", &c->msg);
    if (e != ERR_OK)
        return e;
    roofline_costs(r, card, m, out);
    out->latency_s = r->price[ROOFLINE_KERNEL];
    out->bytes_per_s = card->link_bytes_s / r->price[ROOFLINE_BYTES];
    return ERR_OK;
}

/* The kind that others are counted in. */
static enum unit_kind base_of(const struct cost *c)
{
    return c->unit[KIND_T].known ? KIND_T : KIND_T_DENSE;
}

static double in_base(const struct cost *c, enum unit_kind k)
{
    const struct unit_cost *x = &c->unit[k], *t = &c->unit[base_of(c)];
    return (x->fwd_s + x->bwd_s) / (t->fwd_s + t->bwd_s);
}

void roofline_print(const struct cmd *c, const struct model *m,
                    const struct cost *cost)
{
    struct cost flops;
    const struct card *card = card_of(c);
    cost_analytic(m, card->flops16, &flops);
    printf("\nin decoder layers (%s):", kind_name(base_of(cost)));
    for (int k = 0; k < N_KINDS; k++)
        if (cost->unit[k].known)
            printf("  %s %.2f (FLOPs %.2f)", kind_name((enum unit_kind)k),
                   in_base(cost, (enum unit_kind)k),
                   in_base(&flops, (enum unit_kind)k));
    printf("\n%s: %.0f TFLOP/s of 16 bits, %.0f of FP8, %.0f GB/s of memory, "
           "%.0f of links (%s)\n",
           card->name, card->flops16 / 1e12, card->flops8 / 1e12,
           card->hbm_bytes_s / 1e9, card->link_bytes_s / 1e9, card->source);
    printf("of which kernels reach %.0f%% (products), %.0f%% (FP8), %.0f%% of "
           "these (experts), %.0f%% (bytes), each started in %.0f us:\nfitted "
           "to public step times, with the errors that 'moe-bench roofline' "
           "states; a profile knows better\n",
           100 / ROOFLINE_FITTED.price[ROOFLINE_PRODUCT],
           100 / ROOFLINE_FITTED.price[ROOFLINE_FP8],
           100 / ROOFLINE_FITTED.price[ROOFLINE_EXPERTS],
           100 / ROOFLINE_FITTED.price[ROOFLINE_BYTES],
           1e6 * ROOFLINE_FITTED.price[ROOFLINE_KERNEL]);
}

void roofline_write(const struct cmd *c, struct writer top)
{
    const struct card *card = card_of(c);
    struct writer o = writer_object(top, "roofline");
    writer_text(o, "card", card->name);
    writer_text(o, "source", card->source);
    for (int p = 0; p < N_ROOFLINE; p++)
        writer_number(o, roofline_name((enum roofline_price)p),
                      ROOFLINE_FITTED.price[p]);
}
