/*
 * How it works: a GPT layer is two layers of a hybrid model, attention and MLP,
 * each with a norm and a state of its own. So weights and activations of
 * attention are those of a dense layer without width, an MLP or experts are
 * what a layer has more than that; only Mamba layers are listed here. Without a
 * pipeline one micro-batch is in flight, and the peak is at its loss.
 */
#include "hybrid.h"

#include "activations.h"
#include "static.h"

#include <string.h>

static const char letters[] = "M*E-"; // by enum hybrid_layer

/* ---- the pattern ---- */

const char *memory_hybrid_pattern(const struct megatron_flags *f)
{
    const char *text = flags_text(f, FLAG_HYBRID_LAYER_PATTERN);
    return text ? text : flags_text(f, FLAG_HYBRID_OVERRIDE_PATTERN);
}

/* Counts letters up to the next "/" and returns it, or the end; NULL at a
 * letter that is not known. */
static const char *hybrid_count(const char *text, int n[N_HYBRID_LAYERS])
{
    memset(n, 0, N_HYBRID_LAYERS * sizeof *n);
    for (; *text && *text != '/'; text++) {
        const char *at = strchr(letters, *text);
        if (!at)
            return NULL;
        n[at - letters]++;
    }
    return text;
}

/* All depths have the same layers, as Megatron demands. */
static const char *hybrid_read(const char *text, struct memory_hybrid *out)
{
    static const char unknown[] =
        "a hybrid pattern with other letters than M, *, E and -, or with "
        "stages (|), is not modelled";
    const char *p = hybrid_count(text, out->n_main);
    for (; p && *p == '/'; out->n_depths++) {
        int n[N_HYBRID_LAYERS];
        p = hybrid_count(p + 1, n);
        if (out->n_depths == 0)
            memcpy(out->n_each, n, sizeof n);
        else if (p && memcmp(out->n_each, n, sizeof n) != 0)
            return "a hybrid pattern whose MTP depths differ is not modelled";
    }
    return p ? NULL : unknown;
}

const char *memory_hybrid_take(struct megatron_flags *f,
                               struct memory_hybrid *out)
{
    struct memory_hybrid h = {
        .state_dim = flags_int(f, FLAG_MAMBA_STATE_DIM, 128),
        .head_dim = flags_int(f, FLAG_MAMBA_HEAD_DIM, 64),
        .n_groups = flags_int(f, FLAG_MAMBA_NUM_GROUPS, 8),
        .n_heads = flags_int(f, FLAG_MAMBA_NUM_HEADS, 0)};
    const char *refusal = hybrid_read(memory_hybrid_pattern(f), &h);
    int n_layers = 0;
    for (int i = 0; i < N_HYBRID_LAYERS; i++)
        n_layers += h.n_main[i];
    flags_clear(f, FLAG_HYBRID_LAYER_PATTERN);
    flags_clear(f, FLAG_HYBRID_OVERRIDE_PATTERN);
    flags_clear(f, FLAG_IS_HYBRID_MODEL);
    flags_set_int(f, FLAG_NUM_LAYERS, n_layers > 0 ? n_layers : 1);
    flags_set_int(f, FLAG_MTP_NUM_LAYERS, h.n_depths);
    *out = h;
    return refusal;
}

/* In doubles, which cannot overflow: projections, weights and what is kept of
 * them, over all layers. */
static bool is_beyond_counting(const struct model *m,
                               const struct memory_hybrid *h)
{
    double heads = h->n_heads ? (double)h->n_heads : (double)m->hidden;
    double width = 8 * (heads * (double)h->head_dim +
                        (double)h->n_groups * (double)h->state_dim);
    double tokens = (double)m->batch.micro_batch * (double)m->batch.seq_tokens;
    return width * (32 * tokens + 32 * (double)m->hidden) * m->n_layers > 4e18;
}

const char *memory_hybrid_refusal(const struct model *m,
                                  const struct memory_hybrid *h)
{
    const struct memory_options *o = &m->memory;
    if (is_beyond_counting(m, h))
        return "sizes of Mamba layers multiply out to more than 4e18 bytes";
    if (m->par.pp > 1)
        return "hybrid models over pipeline stages are not modelled";
    if (m->par.cp > 1)
        return "hybrid models with context parallelism are not modelled";
    if (o->fp8)
        return "hybrid models in FP8 are not modelled";
    if (o->recompute || o->full_recompute != RECOMPUTE_NONE)
        return "recompute in hybrid models is not modelled";
    if (o->graphs || o->offload || o->fsdp != FSDP_NONE || m->overlap_moe_comm)
        return "hybrid models with CUDA graphs, offloading, FSDP or EP overlap "
               "are not modelled";
    return NULL;
}

/* ---- one layer of each sort ---- */

/* Weights and activations of one layer. */
struct hybrid_unit {
    struct weight_sums sums;
    int64_t kept;
};

static struct hybrid_unit hybrid_less(struct hybrid_unit a,
                                      struct hybrid_unit b)
{
    memory_add_sums(&a.sums, &b.sums, -1);
    a.kept -= b.kept;
    return a;
}

static struct hybrid_unit hybrid_more(struct hybrid_unit a,
                                      struct hybrid_unit b)
{
    memory_add_sums(&a.sums, &b.sums, 1);
    a.kept += b.kept;
    return a;
}

static struct hybrid_unit hybrid_layer(const struct model *m,
                                       enum unit_kind kind)
{
    return (struct hybrid_unit){memory_unit_sums(m, kind),
                                memory_unit_activations(m, kind)};
}

/* What every layer has around its mixer or MLP: a norm's weights, its input and
 * output, a dropout mask. */
static struct hybrid_unit around(const struct model *m)
{
    struct hybrid_unit u = {.kept = 2 * memory_hidden_bytes(m)};
    const struct weight norm = {m->hidden, 1, 1, WEIGHT_NORM, false};
    for (int i = 0; i < 1 + m->layernorm; i++)
        memory_add_weight(&u.sums, &norm);
    if (m->memory.hidden_dropout)
        u.kept += memory_hidden_bytes(m) / memory_value_bytes(&m->memory);
    return u;
}

/* Widths of a Mamba layer on one rank. */
struct mamba_widths {
    int64_t inner, heads, convolved, projected;
};

static struct mamba_widths mamba_of(const struct model *m,
                                    const struct memory_hybrid *h)
{
    const int64_t tp = m->par.tp;
    int64_t heads = h->n_heads ? h->n_heads : 2 * m->hidden / h->head_dim;
    int64_t inner = heads * h->head_dim / tp;
    int64_t states = h->n_groups * h->state_dim / tp;
    return (struct mamba_widths){inner, heads / tp, inner + 2 * states,
                                 2 * inner + 2 * states + heads / tp};
}

/* Projections in and out; a convolution over four steps with its bias; a step,
 * a decay and a skip weight a head; the gated norm. */
static struct hybrid_unit mamba_layer(const struct model *m,
                                      const struct memory_hybrid *h)
{
    enum { STEPS = 4 };
    const struct mamba_widths w = mamba_of(m, h);
    const struct weight rows[] = {
        {w.projected, m->hidden, 1, WEIGHT_LINEAR, false},
        {m->hidden, w.inner, 1, WEIGHT_LINEAR, false},
        {w.convolved, STEPS, 1, WEIGHT_BIAS, false},
        {w.convolved, 1, 1, WEIGHT_BIAS, false},
        {w.heads, 1, 3, WEIGHT_BIAS, false},
        {w.inner, 1, 1, WEIGHT_NORM, false}};
    struct hybrid_unit u = around(m);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        memory_add_weight(&u.sums, &rows[i]);
    int64_t tokens = m->batch.micro_batch * m->batch.seq_tokens;
    u.kept +=
        memory_value_bytes(&m->memory) * tokens * (w.projected + 2 * w.inner);
    return u;
}

static void hybrid_units(const struct model *m, const struct memory_hybrid *h,
                         struct hybrid_unit out[N_HYBRID_LAYERS])
{
    struct model bare = *m;
    bare.ffn = 0;
    // attention with both norms
    struct hybrid_unit both = hybrid_layer(&bare, KIND_T_DENSE);
    struct hybrid_unit one = around(m);
    out[HYBRID_MAMBA] = mamba_layer(m, h);
    out[HYBRID_ATTENTION] = hybrid_less(both, one);
    out[HYBRID_EXPERTS] =
        hybrid_more(hybrid_less(hybrid_layer(m, KIND_T), both), one);
    out[HYBRID_MLP] =
        hybrid_more(hybrid_less(hybrid_layer(m, KIND_T_DENSE), both), one);
}

/* ---- the rank ---- */

static void hybrid_add(struct hybrid_unit *to, const struct hybrid_unit *units,
                       const int n[N_HYBRID_LAYERS], int times)
{
    for (int i = 0; i < N_HYBRID_LAYERS; i++) {
        memory_add_sums(&to->sums, &units[i].sums, times * n[i]);
        to->kept += times * n[i] * units[i].kept;
    }
}

/* All MTP depths: what a GPT's has around its layer, and layers. Repeated ones
 * share weights, but not activations. */
static struct hybrid_unit hybrid_mtp(const struct memory_terms *t,
                                     const struct memory_hybrid *h,
                                     const struct hybrid_unit *units)
{
    const struct model *m = t->model;
    struct hybrid_unit all = {.kept = 0}, one = {.kept = 0};
    if (!h->n_depths)
        return all;
    one = hybrid_less(hybrid_layer(m, KIND_M),
                      hybrid_layer(m, model_layer_kind(m, m->n_layers - 1)));
    hybrid_add(&one, units, h->n_each, 1);
    memory_add_sums(&all.sums, &one.sums, m->mtp_repeated ? 1 : h->n_depths);
    all.kept = h->n_depths * one.kept;
    return all;
}

static void hybrid_workspaces(const struct memory_terms *t,
                              const struct memory_hybrid *h,
                              struct workspaces *out)
{
    const struct model *m = t->model;
    const struct mamba_widths w = mamba_of(m, h);
    const struct workspace_place at = {
        .platform = t->platform,
        .has = {[KIND_E] = true,
                [KIND_T] = true,
                [KIND_T_DENSE] = h->n_main[HYBRID_MLP] > 0,
                [KIND_M] = h->n_depths > 0,
                [KIND_L] = true}};
    memory_workspaces(m, &at, out);
    // two shapes more
    if (m->memory.grad_fusion && h->n_main[HYBRID_MAMBA])
        out->dummy_grads += memory_value_bytes(&m->memory) * m->hidden *
                            (w.projected + w.inner);
}

void memory_hybrid_rank(const struct memory_terms *t,
                        const struct memory_hybrid *h, struct memory_rank *out)
{
    const struct model *m = t->model;
    struct hybrid_unit units[N_HYBRID_LAYERS], all = {.kept = 0};
    struct memory_held held = {.n_tables = m->tied ? 1 : 2};
    struct memory_rank r = {.in_flight = 1};
    hybrid_units(m, h, units);
    hybrid_add(&all, units, h->n_main, 1);
    all = hybrid_more(all, hybrid_mtp(t, h, units));
    held.sums = all.sums;
    memory_add_sums(&held.sums, &t->sums[KIND_E], 1);
    memory_add_sums(&held.sums, &t->sums[KIND_L], 1);
    memory_static(t, &held, &r);
    hybrid_workspaces(t, h, &r.workspaces);
    r.workspace_bytes = memory_workspaces_sum(&r.workspaces);
    r.allocated_bytes = r.static_bytes + r.workspace_bytes;
    r.activation_bytes = all.kept + t->kept[KIND_E] + t->kept[KIND_L];
    r.head_bytes = t->head;
    r.peak_bytes = r.allocated_bytes + r.activation_bytes + r.head_bytes;
    *out = r;
}
