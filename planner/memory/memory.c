/*
 * How it works: memory_terms() sums the weights and activations of one unit of
 * each kind; a chunk is a count of units by kind; a rank is its chunks. The
 * peak is found by walking the rank's order of work (schedule/order): a forward
 * adds its chunk's activations, a backward takes them off, and at either the
 * head or a layer that is recomputed may stand on top.
 */
#include "memory.h"

#include "activations.h"
#include "mixers.h"
#include "offload.h"
#include "static.h"

/* CUDA context with libraries' kernels and NCCL's buffers: orders of magnitude
 * that users report, meant to be replaced by one's own measurement. */
const struct memory_allowance MEMORY_ALLOWANCE = {.context_bytes = 512 << 20,
                                                  .nccl_bytes = 256 << 20,
                                                  .reserved_share = 0.02};

// the 95th percentile of measured under-estimates of peaks, 5.75%
const double MEMORY_MARGIN = 0.058;

static bool is_moe_train(const struct memory_rules *r)
{
    return r->trainer == TRAINER_MOE_TRAIN;
}

/* A bound of everything that activations multiply out to, from above: 32 bytes
 * for each value of a width and 16 for each score hold all of activations.c. In
 * doubles, which cannot overflow. */
static bool is_beyond_counting(const struct model *m)
{
    const struct batch *b = &m->batch;
    double tokens = (double)b->micro_batch * (double)b->seq_tokens;
    double heads = (double)m->n_heads;
    double wide =
        heads * (double)(m->head_dim + m->qk_dim + m->qk_rope_dim + m->v_dim);
    double narrow = (double)(m->hidden + m->ffn + m->shared_ffn + m->latent +
                             m->q_lora + m->kv_lora);
    double routed = (double)(m->topk * m->par.etp) *
                    (double)(m->hidden + m->latent + m->moe_ffn);
    double layer = tokens * (32 * (wide + narrow + routed) +
                             16 * heads * (double)b->seq_tokens) +
                   memory_mixers_bound(m);
    double head = tokens * (double)m->padded_vocab * (32 + 8 * m->n_mtp);
    double in_flight =
        (double)m->par.pp * (2 + m->par.vpp) + m->memory.mb_group;
    // an MTP depth of a hybrid model has some tens of layers at most
    return layer * (m->n_layers + m->n_mtp * WEIGHTS_MAX) * in_flight + head >
           4e18;
}

/* What of Megatron has no model in hybrid models. */
static const char *hybrid_refusal(const struct model *m)
{
    const struct memory_options *o = &m->memory;
    if (o->graphs)
        return "hybrid models with CUDA graphs are not modelled";
    if (o->offload)
        return "hybrid models with activation offloading are not modelled";
    if (o->fsdp != FSDP_NONE)
        return "hybrid models with FSDP are not modelled";
    if (m->overlap_moe_comm)
        return "Megatron has no EP overlap in hybrid models";
    if (o->unfused_attention && model_unit_count(m, KIND_SPARSE))
        return "sparse attention without a fused kernel is not modelled";
    if (o->deterministic && model_unit_count(m, KIND_DELTA))
        return "gated delta net in deterministic mode is not modelled: its "
               "kernels are then PyTorch's";
    return NULL;
}

/* In the order in which a user can do something about it. */
const char *memory_refusal(const struct model *m)
{
    if (is_beyond_counting(m))
        return "sizes multiply out to more than 4e18 bytes";
    if (m->memory.refusal)
        return m->memory.refusal;
    if (model_is_hybrid(m) && hybrid_refusal(m))
        return hybrid_refusal(m);
    if (m->memory.distributed && m->memory.world_unknown)
        return "the distributed optimiser divides by the number of ranks, and "
               "the world size is not stated: give --world N";
    return NULL;
}

static int64_t more(int64_t bytes, double relative)
{
    return bytes + (int64_t)(relative * (double)bytes);
}

/* May the model have such units? Symbols are those of hybrid models. */
static bool has_kind(const struct model *m, enum unit_kind k)
{
    if (k == KIND_M)
        return m->n_mtp > 0;
    return !kind_is_layer(k) || kind_is_symbol(k) == model_is_hybrid(m);
}

void memory_terms(const struct model *m, const struct memory_rules *rules,
                  enum platform platform, struct memory_terms *out)
{
    struct memory_terms t = {.model = m, .rules = *rules, .platform = platform};
    const struct weight_shares shares = weights_shares(m);
    struct weight table = weights_token_table(m, &shares);
    memory_add_weight(&t.table, &table);
    for (int k = 0; k < N_KINDS; k++) {
        if (!has_kind(m, (enum unit_kind)k))
            continue;
        t.sums[k] = memory_unit_sums(m, (enum unit_kind)k);
        t.kept[k] = memory_unit_activations(m, (enum unit_kind)k);
        t.plain[k] = memory_unit_activations_plain(m, (enum unit_kind)k);
        t.kept[k] = more(t.kept[k], rules->unit_more[k]);
        t.plain[k] = more(t.plain[k], rules->unit_more[k]);
        memory_unit_offloads(m, (enum unit_kind)k, t.offloads[k]);
        t.recomputed[k] = memory_unit_recomputed(m, (enum unit_kind)k);
        t.recomputed[k].mixer =
            more(t.recomputed[k].mixer, rules->unit_more[k]);
        t.recomputed[k].mlp = more(t.recomputed[k].mlp, rules->unit_more[k]);
        t.working[k] = memory_working_bytes(m, (enum unit_kind)k);
    }
    t.head = more(memory_head_bytes(m), rules->head_more);
    t.deferred = memory_deferred_bytes(m);
    t.scores = memory_scores_bytes(m);
    *out = t;
}

/* ---- chunks ---- */

struct chunk {
    int counts[N_KINDS];
    int n_copies;       // of the embedding
    int64_t kept;       // activations of a micro-batch
    int64_t recomputed; // a layer's, while it is in its backward pass
    struct memory_offload offload; // `kept` is without what is away
    int64_t head;
    int64_t working; // the most that a unit has in its backward pass alone
    int n_layers;
    int first; // index of its first decoder layer
};

/* Megatron keeps a copy of the token table on a stage that reads it without
 * being the first: a tied output layer, an MTP layer. */
static int embedding_copies(const struct model *m, const int counts[N_KINDS])
{
    bool tied_head = counts[KIND_L] && m->tied;
    return !counts[KIND_E] && (tied_head || counts[KIND_M]);
}

/* With the block method the first layers of a chunk are recomputed and the
 * others kept whole: these, by kind. Megatron counts symbols as layers in a
 * hybrid model (checkpointed_forward() in core/recompute.py). */
static void count_whole(const struct memory_terms *t, const struct chunk *c,
                        int whole[N_KINDS])
{
    const struct memory_options *o = &t->model->memory;
    const int n_decoder = c->n_layers - c->counts[KIND_M];
    for (int k = 0; k < N_KINDS; k++)
        whole[k] = 0;
    if (o->full_recompute != RECOMPUTE_BLOCK)
        return;
    for (int i = o->recompute_layers > 0 ? o->recompute_layers : 0;
         i < n_decoder; i++)
        whole[model_layer_kind(t->model, c->first + i)]++;
}

static void add_activations(const struct memory_terms *t, struct chunk *c)
{
    struct memory_recomputed back = {0, 0};
    int whole[N_KINDS];
    count_whole(t, c, whole);
    for (int k = 0; k < N_KINDS; k++) {
        const int n = c->counts[k];
        if (!n)
            continue;
        c->kept += (n - whole[k]) * t->kept[k] + whole[k] * t->plain[k];
        // one layer at a time is recomputed, so the largest counts
        if (t->recomputed[k].mixer > back.mixer)
            back.mixer = t->recomputed[k].mixer;
        if (t->recomputed[k].mlp > back.mlp)
            back.mlp = t->recomputed[k].mlp;
        c->working = t->working[k] > c->working ? t->working[k] : c->working;
    }
    c->recomputed = back.mixer + back.mlp;
}

static struct chunk chunk_of(const struct memory_terms *t,
                             const struct layout *l, int stage)
{
    struct chunk c = {.n_copies = 0};
    layout_stage_kinds(l, t->model, stage, c.counts);
    c.n_copies = embedding_copies(t->model, c.counts);
    c.n_layers = layout_stage(l, stage).n_layers + c.counts[KIND_M];
    c.first = layout_first_layer(l, stage);
    add_activations(t, &c);
    c.head = c.counts[KIND_L] ? t->head : 0;
    c.offload = memory_offload(t, c.first, c.n_layers - c.counts[KIND_M],
                               c.counts[KIND_M]);
    c.kept -= c.offload.away;
    return c;
}

/* The decoder layers within `n` MTP layers. */
static void take_layers_of_mtp(const struct memory_terms *t, int n,
                               struct weight_sums *outside)
{
    const struct model *m = t->model;
    if (!model_is_hybrid(m))
        memory_add_sums(outside, &t->sums[model_layer_kind(m, m->n_layers - 1)],
                        -n);
    for (const char *s = m->mtp_symbols; s && *s; s++) {
        const struct weight_sums layer =
            memory_unit_sums(m, kind_of_symbol(*s));
        memory_add_sums(outside, &layer, -n);
    }
}

/* Weights of a chunk; those outside of decoder layers are of E, L, copies of
 * the embedding, and what an MTP layer has around its decoder layer. Tables are
 * embeddings and output layers. */
static void add_held(const struct memory_terms *t, const struct chunk *c,
                     struct memory_held *held)
{
    const struct model *m = t->model;
    for (int k = 0; k < N_KINDS; k++) {
        int n = c->counts[k];
        // one layer, run once for each depth
        if (k == KIND_M && m->mtp_repeated && n)
            n = 1;
        if (!n)
            continue;
        memory_add_sums(&held->sums, &t->sums[k], n);
        if (!kind_is_layer((enum unit_kind)k))
            memory_add_sums(&held->outside, &t->sums[k], n);
        if (k == KIND_M)
            take_layers_of_mtp(t, n, &held->outside);
    }
    memory_add_sums(&held->sums, &t->table, c->n_copies);
    memory_add_sums(&held->outside, &t->table, c->n_copies);
    held->n_tables +=
        c->counts[KIND_E] + c->n_copies + (m->tied ? 0 : c->counts[KIND_L]);
}

/* ---- peak ---- */

/* Activations of the chunk's i-th layer, MTP layers last; of what is offloaded
 * each layer has its even share. */
static int64_t layer_kept(const struct memory_terms *t, const struct chunk *c,
                          int i)
{
    bool decoder = i < c->n_layers - c->counts[KIND_M];
    return t->kept[decoder ? model_layer_kind(t->model, c->first + i)
                           : KIND_M] -
           c->offload.away / c->n_layers;
}

/* Most bytes that a combined operation stands above what was alive before it:
 * its forward adds layer by layer while its backward gives layers back, in
 * pairs, then what is left of the backward, then of the forward
 * (model_chunk_schedule_plan.py). So two chunks are in flight, but hardly more
 * bytes than of one: Megatron's own measurements show no more, either. */
static int64_t combined_rise(const struct memory_terms *t,
                             const struct chunk *f, const struct chunk *b)
{
    int pairs = f->n_layers < b->n_layers ? f->n_layers : b->n_layers;
    int64_t now = f->counts[KIND_E] * t->kept[KIND_E] -
                  b->counts[KIND_L] * t->kept[KIND_L];
    int64_t most = now > 0 ? now : 0;
    for (int i = 0; i < pairs; i++) {
        now += layer_kept(t, f, i);
        most = now > most ? now : most;
        now -= layer_kept(t, b, b->n_layers - 1 - i);
    }
    for (int i = pairs; i < b->n_layers; i++)
        now -= layer_kept(t, b, b->n_layers - 1 - i);
    for (int i = pairs; i < f->n_layers; i++)
        now += layer_kept(t, f, i);
    return now > most ? now : most;
}

/* Keeps the highest moment: `alive` activations with `top` on them, of which
 * `head` is the loss. */
static void note_moment(struct memory_rank *out, struct order_op op,
                        int64_t alive, int64_t head)
{
    if (alive + head <= out->activation_bytes + out->head_bytes)
        return;
    out->activation_bytes = alive;
    out->head_bytes = head;
    out->moment = op;
}

/* What the rank keeps of the offloadable, although it might go, for
 * --delta-offload-bytes-across-pp-ranks. */
static int64_t kept_by_delta(const struct memory_terms *t, int rank,
                             int64_t away)
{
    int64_t most = rank * t->model->memory.offload_delta_bytes;
    return away < most ? away : most;
}

/* A combined operation is judged at its own highest moment, others at the end
 * of a forward and at the start of a backward. Offloading is a layer late on
 * both ways: the last layer of a forward is still on its way out, or stays as
 * it is needed next, and a backward has its layer back. */
static void find_peak(const struct memory_terms *t, const struct chunk *chunks,
                      const struct order *order, int rank,
                      struct memory_rank *out)
{
    int64_t alive = 0, away = 0;
    int n = 0, size = order_walk_size(order, rank);
    for (int i = 0; i < size; i++) {
        struct order_op op = order_at(order, rank, i);
        const struct chunk *f =
            op.fwd_chunk >= 0 ? &chunks[op.fwd_chunk] : NULL;
        const struct chunk *b =
            op.bwd_chunk >= 0 ? &chunks[op.bwd_chunk] : NULL;
        n += f != NULL;
        out->in_flight = n > out->in_flight ? n : out->in_flight;
        n -= b != NULL;
        int64_t late = kept_by_delta(t, rank, away) +
                       (b ? b->offload.back : 0) + (f ? f->offload.layer : 0);
        if (b)
            note_moment(out, op,
                        alive + b->recomputed + b->working + late +
                            (f ? combined_rise(t, f, b) : 0),
                        0);
        alive += (f ? f->kept : 0) - (b ? b->kept : 0);
        away += (f ? f->offload.away : 0) - (b ? b->offload.away : 0);
        if (f)
            note_moment(out, op,
                        alive + f->offload.layer + kept_by_delta(t, rank, away),
                        f->head);
    }
    for (int v = 0; v < order->vpp; v++)
        if (chunks[v].head)
            out->head_bytes += t->deferred;
}

/* Layers with activations, over the micro-batches in flight, at most. */
static int most_layers(const struct chunk *chunks, const struct order *order,
                       int rank)
{
    double layers[ORDER_MAX_CHUNKS];
    for (int v = 0; v < order->vpp; v++)
        layers[v] = chunks[v].n_layers;
    return (int)order_peak(order, rank, layers);
}

/* ---- ranks ---- */

static struct workspace_place place_of(const struct memory_terms *t,
                                       const struct layout *l, int rank)
{
    struct workspace_place at = {.platform = t->platform,
                                 .states_a_message = 1};
    int mtp = layout_mtp_stage(l);
    for (int s = rank; s < l->n_stages; s += l->pp) {
        int counts[N_KINDS];
        layout_stage_kinds(l, t->model, s, counts);
        for (int k = 0; k < N_KINDS; k++)
            at.has[k] = at.has[k] || counts[k];
        // the model's first stage receives nothing in its forward
        at.n_fed_chunks += s > 0;
        // a standalone MTP stage sends main and MTP states on together
        if (mtp >= 0 && s > mtp)
            at.states_a_message = 1 + t->model->n_mtp;
    }
    return at;
}

/* Of a layout, whose ranks may be others than the model's. Memory refuses
 * nothing: numbers beyond what an order takes are cut to it, and a group larger
 * than the step, refused where a schedule is made, is all micro-batches. */
static struct order memory_order(const struct model *m, const struct layout *l,
                                 int vpp)
{
    struct order order = order_of_model(m);
    order.pp = l->pp;
    order.vpp = vpp;
    if (order.n_mb > ORDER_MAX_MB)
        order.n_mb = ORDER_MAX_MB;
    if (m->memory.mb_group <= 0)
        order.group = l->pp;
    if (order.group > order.n_mb)
        order.group = order.n_mb;
    return order;
}

/* Static bytes and workspaces belong to the rank, activations to its order of
 * work: they are added at the moment of the peak. */
static void megatron_rank(const struct memory_terms *t, const struct layout *l,
                          int rank, struct memory_rank *out)
{
    const struct model *m = t->model;
    struct chunk chunks[ORDER_MAX_CHUNKS];
    struct memory_held held = {.n_tables = 0};
    int vpp = l->vpp < ORDER_MAX_CHUNKS ? l->vpp : ORDER_MAX_CHUNKS;
    for (int v = 0; v < vpp; v++) {
        chunks[v] = chunk_of(t, l, v * l->pp + rank);
        add_held(t, &chunks[v], &held);
    }
    struct order order = memory_order(m, l, vpp);
    struct workspace_place at = place_of(t, l, rank);
    memory_static(t, &held, out);
    find_peak(t, chunks, &order, rank, out);
    at.n_graphed = most_layers(chunks, &order, rank);
    memory_workspaces(m, &at, &out->workspaces);
    out->workspace_bytes = memory_workspaces_sum(&out->workspaces) +
                           (int64_t)t->rules.rank_more_bytes;
    // what graphs keep in place was counted with the activations
    if (m->memory.graphs)
        out->activation_bytes -= memory_graph_states(m, at.n_graphed);
}

/* moe-train allocates a slot for each micro-batch in flight at its start, head
 * included. */
static void train_rank(const struct memory_terms *t, const struct layout *l,
                       int rank, struct memory_rank *out)
{
    struct memory_train x;
    struct order order = memory_order(t->model, l, l->vpp);
    memory_train_rank(t->model, l, &order, rank, &x);
    out->in_flight = order_max_in_flight(&order, rank);
    out->params = x.weights / t->rules.param_bytes;
    out->param_bytes = x.weights;
    out->grad_bytes = x.grads;
    out->optimizer_bytes = x.adam;
    out->static_bytes = x.weights + x.grads + x.adam;
    out->workspace_bytes = x.work;
    out->activation_bytes = x.slot - x.head;
    out->head_bytes = x.head;
}

void memory_rank(const struct memory_terms *t, const struct layout *l, int rank,
                 struct memory_rank *out)
{
    struct memory_rank r = {.params = 0};
    if (is_moe_train(&t->rules))
        train_rank(t, l, rank, &r);
    else
        megatron_rank(t, l, rank, &r);
    r.allocated_bytes = r.static_bytes + r.workspace_bytes;
    r.peak_bytes = r.allocated_bytes + r.activation_bytes + r.head_bytes;
    *out = r;
}

int64_t memory_allowance_bytes(const struct memory_terms *t, int64_t peak_bytes)
{
    const struct parallel *p = &t->model->par;
    const struct memory_allowance *a = &MEMORY_ALLOWANCE;
    if (is_moe_train(&t->rules))
        return 0;
    // NCCL makes buffers for each communicator, one a dimension
    int n = (p->tp > 1) + (p->pp > 1) + (p->cp > 1) + (p->ep > 1) + (p->dp > 1);
    return a->context_bytes + n * a->nccl_bytes +
           (int64_t)(a->reserved_share * (double)peak_bytes);
}

/* The margin is for the prediction's own error; the allowance is stated, not
 * measured, and so makes a layout tight but never refuses it. */
enum memory_verdict memory_judge(const struct memory_terms *t,
                                 int64_t peak_bytes, double limit_bytes,
                                 double margin)
{
    double wanted =
        (double)peak_bytes * (is_moe_train(&t->rules) ? 1 : 1 + margin);
    double more = (double)memory_allowance_bytes(t, peak_bytes);
    if (limit_bytes <= 0)
        return MEMORY_FITS;
    if (wanted > limit_bytes)
        return MEMORY_TOO_MUCH;
    return wanted + more > limit_bytes ? MEMORY_TIGHT : MEMORY_FITS;
}

/* ---- a stage by itself ---- */

int64_t memory_stage_params(const struct model *m, const struct layout *l,
                            int stage)
{
    int counts[N_KINDS];
    layout_stage_kinds(l, m, stage, counts);
    int64_t n = 0;
    for (int k = 0; k < N_KINDS; k++)
        n +=
            counts[k] ? counts[k] * model_unit_params(m, (enum unit_kind)k) : 0;
    struct weight table = weights_token_table(m, &WEIGHTS_WHOLE);
    return n + embedding_copies(m, counts) * weight_params(&table);
}

/* Chunks of a rank share a copy of the embedding. */
int64_t memory_rank_params(const struct model *m, const struct layout *l,
                           int rank)
{
    int64_t n = 0, table = m->padded_vocab * m->hidden;
    int all[N_KINDS] = {0}, n_copies = 0;
    for (int s = rank; s < l->n_stages; s += l->pp) {
        int counts[N_KINDS];
        layout_stage_kinds(l, m, s, counts);
        n += memory_stage_params(m, l, s);
        n_copies += embedding_copies(m, counts);
        for (int k = 0; k < N_KINDS; k++)
            all[k] += counts[k];
    }
    return n + (embedding_copies(m, all) - n_copies) * table;
}

static void megatron_stage(const struct memory_terms *t, const struct layout *l,
                           int stage, struct memory_stage *out)
{
    struct memory_rank r = {.params = 0};
    struct chunk c = chunk_of(t, l, stage);
    struct memory_held held = {.n_tables = 0};
    struct workspace_place at = place_of(t, l, stage % l->pp);
    add_held(t, &c, &held);
    memory_static(t, &held, &r);
    memory_workspaces(t->model, &at, &r.workspaces);
    out->params = r.params;
    out->static_bytes = r.static_bytes;
    out->workspace_bytes = memory_workspaces_sum(&r.workspaces) +
                           (int64_t)t->rules.rank_more_bytes;
    out->activation_bytes = c.kept;
    out->head_bytes = c.head ? c.head + t->deferred : 0;
    // at the loss, or while the last layer is in its backward pass
    int64_t loss = out->head_bytes + c.offload.layer;
    int64_t layer = c.recomputed + c.working + c.offload.back;
    out->peak_bytes = out->static_bytes + out->workspace_bytes +
                      out->in_flight * c.kept +
                      (c.head && loss > layer ? loss : layer);
}

static void train_stage(const struct memory_terms *t, const struct layout *l,
                        int stage, struct memory_stage *out)
{
    struct memory_train x;
    memory_train_stage(t->model, l, stage, &x);
    out->params = x.weights / t->rules.param_bytes;
    out->static_bytes = x.weights + x.grads + x.adam;
    out->workspace_bytes = x.work;
    out->activation_bytes = x.slot;
    out->head_bytes = 0; // part of every slot
    out->peak_bytes =
        out->static_bytes + x.work + out->in_flight * out->activation_bytes;
}

void memory_stage_of(const struct memory_terms *t, const struct layout *l,
                     int stage, int in_flight, struct memory_stage *out)
{
    *out = (struct memory_stage){.in_flight = in_flight};
    if (is_moe_train(&t->rules))
        train_stage(t, l, stage, out);
    else
        megatron_stage(t, l, stage, out);
}
