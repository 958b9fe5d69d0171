/*
 * moe-layout costs: costs without a measurement, by FLOPs or on a card. How it
 * works: the units are priced, what options say of transfers is added, and the
 * costs file is written and printed as that of `fit`.
 */
#include "base/writer.h"
#include "cmd.h"
#include "cost/cost.h"
#include "cost/roofline.h"
#include "fit.h"

#include <math.h>
#include <stdio.h>

/* ---- on a card ---- */

/* NULL for a name that costs_on_card() refused. */
static const struct card *card_of(const struct cmd *c)
{
    const struct card *card = NULL;
    struct err_msg ignored;
    card_find(c->option[OPT_ROOFLINE], "--roofline", &card, &ignored);
    return card;
}

/* A transfer starts as a kernel does, and a link reaches the share of its rate
 * that memory does: the fit has one price for both. */
static enum err costs_on_card(struct cmd *c, const struct model *m,
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

static double in_base(const struct cost *c, enum unit_kind base,
                      enum unit_kind k)
{
    const struct unit_cost *x = &c->unit[k], *t = &c->unit[base];
    return (x->fwd_s + x->bwd_s) / (t->fwd_s + t->bwd_s);
}

/* Beside the FLOPs, since their difference is what a roofline is for. */
static void costs_print_card(const struct cmd *c, const struct model *m,
                             const struct cost *cost)
{
    struct cost flops;
    const struct card *card = card_of(c);
    cost_analytic(m, card->flops16, &flops);
    const enum unit_kind base = model_base_kind(m);
    printf("\nin decoder layers (%s):", kind_name(base));
    for (int k = 0; k < N_KINDS; k++)
        if (cost->unit[k].known)
            printf("  %s %.2f (FLOPs %.2f)", kind_name((enum unit_kind)k),
                   in_base(cost, base, (enum unit_kind)k),
                   in_base(&flops, base, (enum unit_kind)k));
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

/* The constants with their card: costs of another fit are other costs. */
static void costs_write_card(const struct cmd *c, struct writer top)
{
    const struct card *card = card_of(c);
    struct writer o = writer_object(top, "roofline");
    writer_text(o, "card", card->name);
    writer_text(o, "source", card->source);
    for (int p = 0; p < N_ROOFLINE; p++)
        writer_number(o, roofline_name((enum roofline_price)p),
                      ROOFLINE_FITTED.price[p]);
}

/* ---- the costs ---- */

/* By FLOPs alone, or on a card. 100 TFLOP/s by default: any rate gives the same
 * ranking while transfers are free, as they are unless stated. */
static enum err price_units(struct cmd *c, const struct model *m,
                            struct cost *cost)
{
    double tflops = 100;
    const bool card = cmd_given(c, OPT_ROOFLINE);
    enum err e = ERR_OK;
    if (card == cmd_given(c, OPT_ANALYTIC))
        return err_set(&c->msg, ERR_PARSE,
                       "costs: want --analytic or --roofline GPU, one of them "
                       "(measured costs come from 'moe-layout fit')");
    e = cmd_double(c, OPT_TFLOPS, 1e-6, 1e9, &tflops);
    if (e != ERR_OK || card)
        return e != ERR_OK ? e : costs_on_card(c, m, cost);
    cost_analytic(m, tflops * 1e12, cost);
    return ERR_OK;
}

/* Costs by FLOPs have no scale, which is said each time they are shown. */
static enum err costs_print(struct cmd *c, const struct model *m,
                            const struct cost *cost)
{
    const bool card = cmd_given(c, OPT_ROOFLINE);
    if (cmd_given(c, OPT_JSON)) {
        struct writer_doc doc;
        struct writer top = writer_open_tree(&doc, cost_to_json(cost));
        cmd_write_account(c, top);
        if (card)
            costs_write_card(c, top);
        return writer_print(&doc, true, stdout, &c->msg);
    }
    fit_print_costs(cost);
    fit_print_links(cost);
    if (card)
        costs_print_card(c, m, cost);
    else
        printf("assumed: %s TFLOP/s; only the ratios mean something\n",
               cmd_given(c, OPT_TFLOPS) ? c->option[OPT_TFLOPS] : "100");
    return ERR_OK;
}

/* The file keeps the facts of the model: plan refuses costs of another one. */
static enum err run_costs(struct cmd *c)
{
    struct cmd_model m;
    struct cost cost;
    struct model_fact facts[MODEL_N_FACTS];
    enum err e = cmd_model(c, &m);
    if (e == ERR_OK)
        e = cmd_require_seq(c, &m);
    if (e == ERR_OK)
        e = price_units(c, &m.model, &cost);
    if (e != ERR_OK)
        return e;
    cost.n_facts = model_facts(&m.model, facts);
    cost.facts = facts;
    e = fit_read_links(c, &cost);
    if (e == ERR_OK)
        e = cmd_ep_save(c, &cost.ep_save);
    if (e == ERR_OK)
        e = fit_write_costs(c, &cost);
    return e == ERR_OK ? costs_print(c, &m.model, &cost) : e;
}

static const enum cmd_option takes[] = {OPT_ANALYTIC,
                                        OPT_ROOFLINE,
                                        OPT_TFLOPS,
                                        OPT_RECOMPUTE,
                                        OPT_MBS,
                                        OPT_GBS,
                                        OPT_SEQ,
                                        OPT_TP,
                                        OPT_PP,
                                        OPT_VPP,
                                        OPT_CP,
                                        OPT_EP,
                                        OPT_ETP,
                                        OPT_WORLD,
                                        OPT_LATENCY,
                                        OPT_BANDWIDTH,
                                        OPT_BETWEEN_LATENCY,
                                        OPT_BETWEEN_BANDWIDTH,
                                        OPT_EP_SAVE,
                                        OPT_OUT,
                                        OPT_HYBRID,
                                        OPT_JSON,
                                        OPT_HELP,
                                        N_OPTIONS};

const struct command CMD_COSTS = {
    .name = "costs",
    .run = run_costs,
    .synopsis = "costs MODEL --analytic | --roofline GPU [-o costs.json]",
    .summary =
        "costs without a run, from FLOPs or from the data sheet of a card",
    .help = "What a planner without measurements assumes. --analytic: in "
            "proportion to FLOPs, backward twice\nforward (three times with "
            "full uniform recompute); transfers as given. --roofline: what "
            "each unit\ncomputes, moves and starts on a card whose data sheet "
            "is known (A100, H100, H200, GH200, B200,\nB300, GB200, GB300, "
            "MI300X, MI325X, MI355X), at what public step times say kernels "
            "reach of it;\nthe card's link for transfers, unless given.\n"
            "Example: moe-layout costs experiments/models/7b-a1b.json "
            "\\\n    --roofline H200 -o roofline.json",
    .options = takes,
    .takes_model = true,
};
