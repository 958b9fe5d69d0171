/*
 * How it works: the number of chunks a rank comes from one of three flags; with
 * it, or from it, comes the layout; layout, batch and group make the order; and
 * the schedule is built once here only to hear what is wrong with it.
 */
#include "split.h"

#include "base/text.h"
#include "rendezvous.h"

/* Megatron's split without a layout: layers must divide, E first, m and L on
 * top of the last stage. */
static enum err default_layout(struct arena *a, const struct model *m,
                               const char **out, struct err_msg *msg)
{
    int n_stages = m->par.pp * m->par.vpp, each = m->n_layers / n_stages;
    if (m->n_layers % n_stages)
        return err_set(msg, ERR_RANGE,
                       "--num-layers: got %d, want a multiple of "
                       "--pipeline-model-parallel-size %d%s, or give "
                       "--pipeline-model-parallel-layout",
                       m->n_layers, m->par.pp,
                       m->par.vpp > 1 ? " times virtual stages" : "");
    char *text = arena_printf(a, "E");
    for (int s = 0; text && s < n_stages; s++)
        text = arena_printf(a, "%s%st*%d", text, s ? "|" : "", each);
    for (int k = 0; text && k < m->n_mtp; k++)
        text = arena_printf(a, "%sm", text);
    *out = text ? arena_printf(a, "%sL", text) : NULL;
    return *out ? ERR_OK : err_set(msg, ERR_NOMEM, "layout: out of memory");
}

/* Megatron takes the number of virtual stages from one source only, and
 * layers of a virtual stage must divide. */
static enum err check_virtual(const struct megatron_args *flags,
                              const struct model *m, struct err_msg *msg)
{
    static const char *const names[] = {
        "pipeline-model-parallel-layout",
        "num-virtual-stages-per-pipeline-rank",
        "num-layers-per-virtual-pipeline-stage"};
    const char *given = NULL;
    int64_t each = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!megatron_args_given(flags, names[i]))
            continue;
        if (given)
            return err_set(msg, ERR_RANGE,
                           "--%s: both this and --%s say the virtual stages, "
                           "give one",
                           names[i], given);
        given = names[i];
    }
    const char *text = megatron_args_string(flags, names[2]);
    if (text && text_to_int64(text, &each) &&
        (each < 1 || m->n_layers % m->par.pp || m->n_layers / m->par.pp % each))
        return err_set(msg, ERR_RANGE,
                       "--%s: got %s, want a divisor of %d layers / %d ranks",
                       names[2], text, m->n_layers, m->par.pp);
    if (m->par.vpp < 1 || m->par.vpp > ORDER_MAX_CHUNKS)
        return err_set(msg, ERR_RANGE, "--%s: got %d, want 1 to %d", names[1],
                       m->par.vpp, ORDER_MAX_CHUNKS);
    return ERR_OK;
}

/* What Megatron asks of EP overlap beyond the order (transformer_config.py);
 * that experts are spread over ranks is left out, moe-train has no such. */
static enum err check_overlap(const struct model *m, struct err_msg *msg)
{
    const char *wrong = NULL;
    if (!m->n_experts)
        wrong = "a model without experts has nothing to overlap";
    else if (m->n_mtp > 1)
        wrong = "want at most one MTP layer";
    else if (m->n_mtp && !m->layer_moe[m->n_layers - 1])
        wrong = "the MTP layer, like the last decoder layer, must have experts";
    return wrong && m->overlap_moe_comm
               ? err_set(msg, ERR_RANGE,
                         "--overlap-moe-expert-parallel-comm: %s", wrong)
               : ERR_OK;
}

/* As Megatron: overlapped unless said otherwise, and never with one chunk a
 * rank (arguments.py, overlap_p2p_comm). */
static enum p2p_mode split_p2p(const struct megatron_args *flags, int vpp)
{
    if (vpp == 1)
        return p2p_mode_default(vpp);
    if (megatron_args_given(flags, "no-overlap-p2p-communication"))
        return P2P_BLOCKING;
    return megatron_args_given(flags, "overlap-p2p-communication-warmup-flush")
               ? P2P_OVERLAP_FLUSH
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

/* More micro-batches than an order takes stay too many, so that order_check()
 * says so. Megatron's default for a group is the number of ranks. */
static void set_order(const struct megatron_args *flags, const struct model *m,
                      struct split *s)
{
    int64_t n_mb = m->batch.n_microbatches;
    s->order = (struct order){
        .pp = m->par.pp,
        .vpp = m->par.vpp,
        .n_mb = n_mb > ORDER_MAX_MB ? ORDER_MAX_MB + 1 : (int)n_mb,
        .group = m->memory.mb_group ? m->memory.mb_group : m->par.pp,
        .ep_overlap = m->overlap_moe_comm};
    s->p2p = split_p2p(flags, m->par.vpp);
}

/* The layout first: it may be what says the number of chunks. */
enum err split_read(struct arena *a, const struct megatron_args *flags,
                    struct model *m, struct split *out, struct err_msg *msg)
{
    struct split s = {.layout_text = megatron_args_string(
                          flags, "pipeline-model-parallel-layout")};
    enum err e = check_virtual(flags, m, msg);
    if (e == ERR_OK && !s.layout_text)
        e = default_layout(a, m, &s.layout_text, msg);
    if (e == ERR_OK)
        e = layout_read(a, s.layout_text, m, m->par.pp, &s.layout, msg);
    if (e != ERR_OK)
        return e;
    m->par.vpp = s.layout.vpp;
    set_order(flags, m, &s);
    e = check_order(a, &s, msg);
    if (e == ERR_OK)
        e = check_overlap(m, msg);
    if (e == ERR_OK)
        *out = s;
    return e;
}
