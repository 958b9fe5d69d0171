/*
 * How it works: parameters and gradients lie in one buffer for dense weights
 * and one for experts, padded where the distributed optimiser divides them over
 * replicas; its state is a share of the buffers (Adam), or whole matrices
 * (Muon).
 */
#include "static.h"

#include "fsdp.h"

enum { BUCKET_END = 128 }; // param_and_grad_buffer.py, bucket_end_divisor

/* Dense weights are replicated over DP x CP ranks, experts over what EP and ETP
 * leave of all ranks (parallel_state.py). */
static struct memory_groups groups_of(const struct model *m)
{
    const struct parallel *p = &m->par;
    int64_t n = m->optimizer_instances > 1 ? m->optimizer_instances : 1;
    struct memory_groups g = {p->world / (p->tp * p->pp) / n,
                              p->world / (p->etp * p->ep * p->pp) / n};
    g.dense = g.dense > 0 ? g.dense : 1;
    g.expert = g.expert > 0 ? g.expert : 1;
    return g;
}

static int64_t round_up(int64_t v, int64_t multiple)
{
    return (v + multiple - 1) / multiple * multiple;
}

/* Euclid's algorithm; a / x first, so that the product stays small. */
static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* A buffer's length: its end is a multiple that all replicas can divide. */
static int64_t buffer(int64_t n, int64_t group)
{
    return round_up(n, common_multiple(group, BUCKET_END));
}

/* Whole weights are dealt out over the replicas in turn and back, from small to
 * large; so the embedding tables, the largest, are whole somewhere. True when
 * the n-th of all falls to the last replica (layer_wise_optimizer.py,
 * ping-pong). */
static bool dealt_to_last(int64_t n, int64_t group)
{
    int64_t turn = n % (2 * group);
    return turn == group - 1 || turn == group;
}

static int64_t tables_of_a_replica(const struct memory_terms *t,
                                   const struct weight_sums *s, int n_tables)
{
    struct memory_groups g = groups_of(t->model);
    int held = 0;
    for (int i = 0; i < n_tables; i++)
        held += dealt_to_last(s->n_dense - 1 - i, g.dense);
    if (!t->last_replica) // some replica has one
        held = n_tables > 0;
    return held * t->table.dense;
}

/* Muon keeps a main parameter and one momentum of a matrix; Adam the rest. */
static int64_t muon_bytes(const struct memory_terms *t,
                          const struct weight_sums *s, int n_tables)
{
    const struct memory_options *o = &t->model->memory;
    struct memory_groups g = groups_of(t->model);
    int64_t dense = s->dense_matrix * o->muon_state_bytes;
    int64_t expert = s->expert_matrix * o->muon_state_bytes;
    int64_t other = s->dense - s->dense_matrix;
    int64_t other_expert = s->expert - s->expert_matrix;
    if (o->optimizer == OPTIMIZER_MUON)
        return dense + expert + (other + other_expert) * o->state_bytes;
    int64_t tables = 0;
    if (o->optimizer == OPTIMIZER_MUON_SHARDED) {
        tables = tables_of_a_replica(t, s, n_tables);
        other -= n_tables * t->table.dense;
    }
    return dense / g.dense + expert / g.expert +
           (other / g.dense + other_expert / g.expert + tables) *
               o->state_bytes;
}

/* Bytes of state for each parameter; the distributed optimiser holds an even
 * share of a padded buffer. */
static int64_t adam_bytes(const struct model *m, const struct memory_rules *r,
                          const struct weight_sums *s)
{
    const struct memory_options *o = &m->memory;
    int64_t each = o->param_bytes ? o->state_bytes : r->optimizer_bytes;
    int64_t n = s->dense + s->expert;
    if (o->distributed) {
        struct memory_groups g = groups_of(m);
        n = buffer(s->dense_padded, g.dense) / g.dense +
            buffer(s->expert_padded, g.expert) / g.expert;
    }
    // whole parameters are taken until the share is reached: never less
    return each * (int64_t)((1 - o->optimizer_on_cpu) * (double)n);
}

/* Buffers of parameters and gradients are padded with the distributed
 * optimiser; without it each parameter has its own size. */
static void static_plain(const struct memory_terms *t,
                         const struct memory_held *held,
                         struct memory_rank *out)
{
    const struct model *m = t->model;
    const struct memory_options *o = &m->memory;
    const struct weight_sums *s = &held->sums;
    bool stated = o->param_bytes != 0;
    int64_t buffered = s->dense + s->expert;
    if (o->distributed) {
        struct memory_groups g = groups_of(m);
        buffered = buffer(s->dense_padded, g.dense) +
                   buffer(s->expert_padded, g.expert);
    }
    out->param_bytes =
        buffered * (stated ? o->param_bytes : t->rules.param_bytes) +
        s->linear * o->fp8_copy_bytes;
    out->grad_bytes = buffered * (stated ? o->grad_bytes : t->rules.grad_bytes);
    out->optimizer_bytes = o->optimizer == OPTIMIZER_ADAM
                               ? adam_bytes(m, &t->rules, s)
                               : muon_bytes(t, s, held->n_tables);
}

void memory_static(const struct memory_terms *t, const struct memory_held *held,
                   struct memory_rank *out)
{
    const struct memory_groups g = groups_of(t->model);
    out->params = held->sums.dense + held->sums.expert;
    if (t->model->memory.fsdp != FSDP_NONE)
        memory_fsdp(&t->model->memory, held, &g, out);
    else
        static_plain(t, held, out);
    out->static_bytes =
        out->param_bytes + out->grad_bytes + out->optimizer_bytes;
}

int64_t memory_unit_least(const struct memory_terms *t, int kind)
{
    const struct memory_options *o = &t->model->memory;
    const struct weight_sums *s = kind == N_KINDS ? &t->table : &t->sums[kind];
    const bool stated = o->param_bytes != 0;
    if (t->rules.trainer == TRAINER_MOE_TRAIN || o->fsdp != FSDP_NONE)
        return 0;
    int64_t n = s->dense + s->expert;
    int64_t bytes = n * (stated ? o->param_bytes : t->rules.param_bytes) +
                    n * (stated ? o->grad_bytes : t->rules.grad_bytes) +
                    s->linear * o->fp8_copy_bytes;
    if (o->optimizer != OPTIMIZER_ADAM)
        return bytes;
    struct memory_groups g = groups_of(t->model);
    if (!o->distributed)
        g = (struct memory_groups){1, 1};
    int64_t state = s->dense / g.dense + s->expert / g.expert;
    return bytes + (stated ? o->state_bytes : t->rules.optimizer_bytes) *
                       (int64_t)((1 - o->optimizer_on_cpu) * (double)state);
}
