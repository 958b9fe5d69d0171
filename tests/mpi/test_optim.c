/* The update over four stages, MTP standalone, tied: the global norm counts
 * the shared embedding once, copies stay alike, a bad gradient anywhere keeps
 * the weights everywhere. Ends with status 1 where a claim fails. */
#include "train/comm.h"
#include "train/optim.h"
#include "train/shard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_failed;

static void expect(const struct comm *c, int holds, const char *claim)
{
    if (holds)
        return;
    fprintf(stderr, "stage %d: %s: does not hold\n", c->pp_rank, claim);
    n_failed++;
}

static const uint8_t layer_moe[] = {1, 1, 1, 1};

static const struct model model = {.n_layers = 4,
                                   .n_mtp = 1,
                                   .hidden = 16,
                                   .ffn = 16,
                                   .n_heads = 2,
                                   .n_kv_heads = 2,
                                   .head_dim = 8,
                                   .vocab = 64,
                                   .padded_vocab = 64,
                                   .n_experts = 2,
                                   .moe_ffn = 8,
                                   .topk = 2,
                                   .gated = true,
                                   .tied = true,
                                   .layer_moe = layer_moe,
                                   .par = {1, 4, 1, 1, 1, 1, 4, 1},
                                   .batch = {1, 4, 4, 8}};

enum { TABLE = 64 * 16 };

static uint64_t use_key(int use)
{
    return 900 + (uint64_t)use;
}

/* Gradients that depend on the tensor's id, and on the use for a table; the
 * vocabulary is so small that all of it is looked up. */
static void fill_grads(struct shard *s)
{
    for (int i = 0; i < s->n_weights; i++)
        if (s->grads.item[i].id != 0)
            tensors_normal(tensors_at(&s->grads, i), s->grads.item[i].count, 1,
                           (uint64_t)s->grads.item[i].id + 5);
    for (int u = 0; u < N_USES; u++) {
        real *table = u == USE_HEAD ? s->shared.dembedding : s->shared.drows[u];
        if (s->use_rank[u] == s->rank)
            tensors_normal(table, TABLE, 1, use_key(u));
    }
}

/* Squares of this stage's tensors, of the embedding those of the sum of all
 * uses, on the first stage only. */
static double own_squares(const struct shard *s)
{
    real part[TABLE], total[TABLE] = {0};
    double sum = 0;
    for (int u = 0; u < N_USES; u++) {
        tensors_normal(part, TABLE, 1, use_key(u));
        for (int i = 0; i < TABLE; i++)
            total[i] += part[i];
    }
    for (int i = 0; s->rank == 0 && i < TABLE; i++)
        sum += (double)total[i] * (double)total[i];
    for (int i = 0; i < s->n_weights; i++) {
        const struct tensor *t = &s->grads.item[i];
        const real *x = tensors_at(&s->grads, i);
        for (int64_t j = 0; t->id != 0 && j < t->count; j++)
            sum += (double)x[j] * (double)x[j];
    }
    return sum;
}

static void test_norm(struct optim *o, const struct comm *c, struct shard *s)
{
    struct optim_result r;
    double squares[4] = {0}, kept = (double)tensors_at(&s->weights, 0)[3];
    fill_grads(s);
    squares[c->pp_rank] = own_squares(s);
    comm_merge(c, squares, 4);
    double want = sqrt(squares[0] + squares[1] + squares[2] + squares[3]);
    optim_step(o, c, s, &r);
    expect(c, !r.skipped && fabs(r.grad_norm / want - 1) < 1e-6,
           "the norm counts each tensor once");
    expect(c, (double)tensors_at(&s->weights, 0)[3] != kept, "weights move");
    for (int i = 0; i < s->grads.n_items; i++)
        expect(c, tensors_at(&s->grads, i)[0] == 0, "gradients are zeroed");
}

static void test_copies(const struct comm *c, struct shard *s)
{
    static real other[TABLE];
    const int holders[] = {2, 3};
    for (int i = 0; i < 2; i++) {
        struct comm_message m = {
            .data = other, .bytes = sizeof other, .peer = holders[i], .tag = 1};
        if (c->pp_rank == holders[i])
            m = (struct comm_message){s->shared.embedding, sizeof other, 0, 1,
                                      true};
        if (c->pp_rank == holders[i] || c->pp_rank == 0)
            comm_exchange(c, &m, 1);
        if (c->pp_rank != 0)
            continue;
        expect(c, memcmp(other, s->shared.embedding, sizeof other) == 0,
               "copies of the embedding are alike in every bit");
    }
}

static void test_not_finite(struct optim *o, const struct comm *c,
                            struct shard *s)
{
    struct optim_result r;
    size_t bytes = (size_t)s->weights.bytes;
    char *kept = malloc(bytes);
    int64_t step = o->adamw.step;
    if (!kept)
        comm_fail(c, ERR_NOMEM, "no memory");
    memcpy(kept, s->weights.base, bytes);
    fill_grads(s);
    if (c->pp_rank == 1)
        tensors_at(&s->grads, 2)[0] = (real)NAN;
    optim_step(o, c, s, &r);
    expect(c, r.skipped && o->adamw.step == step, "the step is skipped");
    expect(c, memcmp(kept, s->weights.base, bytes) == 0, "weights stay");
    free(kept);
}

int main(int argc, char **argv)
{
    struct comm c;
    struct arena a;
    struct layout l;
    struct shard *s = NULL;
    struct optim o;
    struct err_msg msg = {""};
    const struct adamw adamw = {
        .lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.1};
    comm_init(&c, &argc, &argv);
    comm_split(&c, 4);
    arena_init(&a);
    enum err e = layout_read_question(
        &a,
        &(struct layout_question){"Ett|tt|m|L", 4, model.n_layers, model.n_mtp},
        &l, &msg);
    const struct order order = {.pp = 4, .vpp = 1, .n_mb = 4};
    struct shard_options opt = {&model, &l, &order, c.pp_rank, 0.1, 0.01, 1};
    if (e == ERR_OK)
        e = shard_new(&a, &opt, &s, &msg);
    if (e == ERR_OK)
        e = optim_new(&a, s, &adamw, 1, &o);
    if (e != ERR_OK)
        comm_fail(&c, e, msg.text);
    c.scratch = s->scratch;
    for (int i = 0; i < 3; i++) {
        test_norm(&o, &c, s);
        test_copies(&c, s);
    }
    test_not_finite(&o, &c, s);
    int failed = (int)comm_max(&c, n_failed);
    shard_free(s);
    arena_clear(&a);
    comm_end(&c);
    return failed ? 1 : 0;
}
