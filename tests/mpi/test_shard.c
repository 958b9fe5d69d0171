/* What a rank holds, against the planner's own count of parameters and its
 * memory model, for every rank of several layouts, one and more chunks a rank.
 * Four ranks, each makes all shards of one layout. Ends with status 1 and a
 * line where a claim fails. */
#include "memory/train.h"
#include "train/comm.h"
#include "train/shard.h"

#include <stdio.h>
#include <string.h>

static int n_failed;

static void expect(const char *layout, int rank, int64_t got, int64_t want,
                   const char *what)
{
    if (got == want)
        return;
    fprintf(stderr, "%s, rank %d: %s: got %lld, want %lld\n", layout, rank,
            what, (long long)got, (long long)want);
    n_failed++;
}

static const uint8_t layer_moe[] = {0, 1, 1, 1, 0, 1};

static struct model model_of(bool tied, int n_mtp)
{
    return (struct model){.n_layers = 6,
                          .n_mtp = n_mtp,
                          .hidden = 24,
                          .ffn = 40,
                          .n_heads = 4,
                          .n_kv_heads = 2,
                          .head_dim = 8,
                          .vocab = 100,
                          .padded_vocab = 128,
                          .n_experts = 4,
                          .moe_ffn = 16,
                          .topk = 2,
                          .shared_ffn = 8,
                          .gated = true,
                          .tied = tied,
                          .layer_moe = layer_moe,
                          .par = {.tp = 1,
                                  .pp = 4,
                                  .vpp = 1,
                                  .cp = 1,
                                  .ep = 1,
                                  .etp = 1,
                                  .world = 4,
                                  .dp = 1},
                          .batch = {.micro_batch = 2,
                                    .global_batch = 8,
                                    .n_microbatches = 4,
                                    .seq_tokens = 16}};
}

static int64_t table_count(const struct tensors *t, int n_items)
{
    int64_t n = 0;
    for (int i = 0; i < n_items; i++)
        n += t->item[i].count;
    return n;
}

static int64_t table_bytes(const struct tensors *t)
{
    int64_t n = 0;
    for (int i = 0; i < t->n_items; i++)
        n += (t->item[i].count * (int64_t)t->item[i].elem_bytes + 63) / 64 * 64;
    return n;
}

/* Units of one stage, without copies of the embedding. Parameters by the
 * planner's counts: it counts the final norm with L, where it is without MTP.
 */
static int64_t planned_units(const struct model *m, const struct layout *l,
                             int stage, int counts[N_KINDS])
{
    int64_t n = 0;
    bool last_t =
        layout_first_layer(l, stage) < m->n_layers &&
        layout_first_layer(l, stage) + layout_stage(l, stage).n_layers ==
            m->n_layers;
    layout_stage_kinds(l, m, stage, counts);
    for (int k = 0; k < N_KINDS; k++)
        n += counts[k] * model_unit_params(m, (enum unit_kind)k);
    if (!m->n_mtp)
        return n;
    return n + (last_t ? m->hidden : 0) - (counts[KIND_L] ? m->hidden : 0);
}

/* A rank has one copy, whatever of its chunks use it. */
static int64_t planned_params(const struct model *m, const struct layout *l,
                              int rank)
{
    int64_t n = 0;
    bool has[N_KINDS] = {false};
    for (int v = 0; v < l->vpp; v++) {
        int counts[N_KINDS];
        n += planned_units(m, l, v * l->pp + rank, counts);
        for (int k = 0; k < N_KINDS; k++)
            has[k] = has[k] || counts[k];
    }
    bool copy = (has[KIND_M] || (has[KIND_L] && m->tied)) && !has[KIND_E];
    return n + (copy ? m->padded_vocab * m->hidden : 0);
}

static void check_tables(const struct model *m, const char *text,
                         const struct layout *l, const struct order *o,
                         const struct shard *s)
{
    struct memory_train want;
    memory_train_rank(m, l, o, s->rank, &want);
    expect(text, s->rank, table_count(&s->weights, s->n_weights),
           planned_params(m, l, s->rank), "parameters");
    expect(text, s->rank, shard_allocated_bytes(s),
           table_bytes(&s->weights) + table_bytes(&s->grads) +
               table_bytes(&s->adam) + table_bytes(&s->acts),
           "bytes of the tables");
    expect(text, s->rank, s->weights.bytes, want.weights, "bytes of weights");
    expect(text, s->rank, s->grads.bytes, want.grads, "bytes of gradients");
    expect(text, s->rank, s->adam.bytes, want.adam, "bytes of the moments");
    expect(text, s->rank, s->acts.bytes, want.slot + want.work,
           "bytes of activations");
    bool holds = false;
    for (int u = 0; u < N_USES; u++)
        holds = holds || s->use_rank[u] == s->rank;
    expect(text, s->rank, holds, s->shared.dembedding != NULL,
           "one gradient for all uses of the embedding here");
    for (int u = 0; u < N_LOOKUPS; u++)
        expect(text, s->rank, holds && s->use_rank[u] >= 0,
               s->shared.drows[u] != NULL, "rows of each kind of look-up");
}

/* One micro-batch, all of them, and a longer order with EP overlap. */
static void check_rank(struct arena *a, const struct model *m, const char *text,
                       const struct layout *l, int rank)
{
    const int last = l->vpp == 1 ? 1 : 3;
    struct order order = {.pp = l->pp, .vpp = l->vpp, .group = l->pp};
    struct err_msg msg = {""};
    int64_t before = 0;
    for (int i = 0; i <= last; i++) {
        struct shard *s = NULL;
        order.n_mb = l->vpp == 1 ? 1 + i : l->pp * (1 + i / 2);
        order.ep_overlap = i % 2 && l->vpp > 1;
        struct shard_options opt = {m, l, &order, rank, 0.1, 0.01, 1};
        if (shard_new(a, &opt, &s, &msg) != ERR_OK) {
            fprintf(stderr, "%s: %s\n", text, msg.text);
            n_failed++;
            return;
        }
        check_tables(m, text, l, &order, s);
        expect(text, rank, s->acts.bytes >= before, 1,
               "more in flight takes no less memory");
        before = s->acts.bytes;
        shard_free(s);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *layout;
        int pp;
        bool tied;
        int n_mtp;
        const char *symbols, *mtp_symbols; // of a hybrid model, else NULL
    } all[] = {{"Ett|tt|t|tmL", 4, true, 1, NULL, NULL},
               {"Ettt|tt|tm|L", 4, true, 1, NULL, NULL},
               {"Ettt|ttt|mm|L", 4, false, 2, NULL, NULL},
               {"E|ttt|ttt|L", 4, false, 0, NULL, NULL},
               {"Etttttt||mL", 3, true, 1, NULL, NULL},
               {"Ettttttm|||L", 4, true, 1, NULL, NULL},
               {"Et|tt|tt|tmL", 2, true, 1, NULL, NULL},
               {"Et|tt|t|ttmL", 2, false, 1, NULL, NULL},
               {"Et|t|t|t|t|t|m|L", 4, true, 1, NULL, NULL},
               {"Et|t||t|t||ttmm|L", 2, true, 2, NULL, NULL},
               {"Et|t|t|t|t|t||L", 2, true, 0, NULL, NULL},
               {"Ettt|t|tt|L", 4, true, 0, NULL, NULL},
               // stages that end behind attention and begin with experts
               {"Etttt|ttt|tttt|tmL", 4, true, 1, "*-*E*E*E*-*E", "*E"},
               {"Ettt|ttttttttt|mL", 3, true, 1, "*-*E*E*E*-*E", "E"},
               {"Et|tt|tt|mmL", 2, false, 2, "E*E-*", "*-"},
               {"Et|tt|tt||tt|L", 2, true, 0, "*E**EE-", NULL}};
    struct comm c;
    comm_init(&c, &argc, &argv);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((int)i % c.world != c.rank)
            continue;
        struct model m = model_of(all[i].tied, all[i].n_mtp);
        if (all[i].symbols) {
            m.symbols = all[i].symbols;
            m.mtp_symbols = all[i].mtp_symbols;
            m.n_layers = (int)strlen(m.symbols);
        }
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        arena_init(&a);
        char *text = arena_strdup(&a, all[i].layout);
        if (layout_read_question(
                &a,
                &(struct layout_question){text, all[i].pp, m.n_layers, m.n_mtp},
                &l, &msg) != ERR_OK) {
            fprintf(stderr, "%s: %s\n", all[i].layout, msg.text);
            n_failed++;
        } else {
            for (int r = 0; r < l.pp; r++)
                check_rank(&a, &m, all[i].layout, &l, r);
        }
        arena_clear(&a);
    }
    int failed = (int)comm_max(&c, n_failed);
    comm_end(&c);
    return failed ? 1 : 0;
}
