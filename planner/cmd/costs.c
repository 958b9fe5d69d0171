/*
 * moe-layout costs: costs without a measurement, by FLOPs or on a card. How it
 * works: the units are priced, what options say of transfers is added, and the
 * costs file is written and printed as that of `fit`.
 */
#include "base/writer.h"
#include "cmd.h"
#include "fit.h"
#include "roofline.h"

#include <stdio.h>

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
        return e != ERR_OK ? e : roofline_of_option(c, m, cost);
    cost_analytic(m, tflops * 1e12, cost);
    return ERR_OK;
}

static enum err costs_print(struct cmd *c, const struct model *m,
                            const struct cost *cost)
{
    const bool card = cmd_given(c, OPT_ROOFLINE);
    if (cmd_given(c, OPT_JSON)) {
        struct writer_doc doc;
        struct writer top = writer_open_tree(&doc, cost_to_json(cost));
        cmd_write_account(c, top);
        if (card)
            roofline_write(c, top);
        return writer_print(&doc, true, stdout, &c->msg);
    }
    fit_print_costs(cost);
    fit_print_links(cost);
    if (card)
        roofline_print(c, m, cost);
    else
        printf("assumed: %s TFLOP/s; only the ratios mean something\n",
               cmd_given(c, OPT_TFLOPS) ? c->option[OPT_TFLOPS] : "100");
    return ERR_OK;
}

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
