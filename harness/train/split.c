/*
 * How it works: the number of chunks a rank comes from one of three flags; with
 * it, or from it, comes the layout; layout, batch and group make the order; and
 * the schedule is built once here only to hear what is wrong with it.
 */
#include "split.h"

#include "layout/default_split.h"
#include "megatron/hybrid.h"
#include "rendezvous.h"

#include <string.h>

/* Megatron takes the number of virtual stages from one source only. */
static enum err check_virtual(const struct megatron_flags *f,
                              struct err_msg *msg)
{
    static const enum flag_id all[] = {FLAG_HYBRID_LAYER_PATTERN, FLAG_LAYOUT,
                                       FLAG_VPP, FLAG_LAYERS_PER_VPP};
    enum flag_id given = FLAG_NONE;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!flags_given(f, all[i]))
            continue;
        if (given != FLAG_NONE)
            return err_set(msg, ERR_RANGE,
                           "--%s: both this and --%s say the virtual stages, "
                           "give one",
                           flag_name(all[i]), flag_name(given));
        given = all[i];
    }
    return ERR_OK;
}

/* As given, else Megatron's split. */
static enum err split_layout(struct arena *a, const struct model *m,
                             struct split *s, struct err_msg *msg)
{
    if (s->layout_text)
        return layout_read(a, s->layout_text, m, &s->layout, msg);
    enum err e = default_split_layout(a, m, m->par.pp, &s->layout, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e == ERR_NOMEM ? e : ERR_RANGE,
                          "--%s is missing", flag_name(FLAG_LAYOUT));
    s->layout_text = layout_text(a, &s->layout, m);
    return s->layout_text ? ERR_OK
                          : err_set(msg, ERR_NOMEM, "layout: out of memory");
}

/* What Megatron asks of EP overlap beyond the order (transformer_config.py);
 * that experts are spread over ranks is left out, moe-train has no such. */
static enum err check_overlap(const struct model *m, struct err_msg *msg)
{
    const char *wrong = NULL;
    if (model_is_hybrid(m))
        wrong = "a hybrid pattern has no schedule for it";
    else if (!m->n_experts)
        wrong = "a model without experts has nothing to overlap";
    else if (m->n_mtp > 1)
        wrong = "want at most one MTP layer";
    else if (m->n_mtp && !m->layer_moe[m->n_layers - 1])
        wrong = "the MTP layer, like the last decoder layer, must have experts";
    return wrong && m->overlap_moe_comm
               ? err_set(msg, ERR_RANGE, "--%s: %s",
                         flag_name(FLAG_OVERLAP_MOE_COMM), wrong)
               : ERR_OK;
}

/* As Megatron: overlapped unless said otherwise, and never with one chunk a
 * rank (arguments.py, overlap_p2p_comm). */
static enum p2p_mode split_p2p(const struct megatron_flags *f, int vpp)
{
    if (vpp == 1)
        return p2p_mode_default(vpp);
    if (flags_given(f, FLAG_NO_OVERLAP_P2P))
        return P2P_BLOCKING;
    return flags_given(f, FLAG_OVERLAP_P2P_FLUSH) ? P2P_OVERLAP_FLUSH
                                                  : P2P_OVERLAP;
}

/* The schedule is built for a check: it refuses what Megatron refuses. */
static enum err check_order(struct arena *a, const struct split *s,
                            struct err_msg *msg)
{
    struct schedule built;
    enum err e = schedule_build(a, &s->order, s->p2p, &built, msg);
    if (e == ERR_OK && layout_mtp_standalone(&s->layout))
        e = rendezvous_check(a, &built, true, msg);
    return e;
}

/* The layout first: it may be what says the number of chunks. */
enum err split_read(struct arena *a, const struct megatron_flags *f,
                    struct model *m, struct split *out, struct err_msg *msg)
{
    struct split s = {.layout_text = hybrid_stages_text(f)};
    enum err e = check_virtual(f, msg);
    if (e == ERR_OK)
        e = split_layout(a, m, &s, msg);
    if (e != ERR_OK)
        return e;
    m->par.vpp = s.layout.vpp;
    s.order = order_of_model(m);
    s.p2p = split_p2p(f, m->par.vpp);
    e = check_order(a, &s, msg);
    if (e == ERR_OK)
        e = check_overlap(m, msg);
    if (e == ERR_OK)
        *out = s;
    return e;
}
