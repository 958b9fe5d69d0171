/* What a stage holds, against the planner's own count of parameters, for
 * every stage of several layouts. Four ranks, each makes all stages of one
 * layout. Ends with status 1 and a line where a claim fails. */
#include "train/comm.h"
#include "train/stage.h"

#include <stdio.h>
#include <string.h>

static int n_failed;

static void expect(const char *layout, int stage, int64_t got, int64_t want,
                   const char *what)
{
    if (got == want)
        return;
    fprintf(stderr, "%s, stage %d: %s: got %lld, want %lld\n", layout, stage,
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

/* Parameters by the planner's counts: it counts the final norm with L. */
static int64_t planned_params(const struct model *m, const struct layout *l,
                              int stage)
{
    int counts[N_KINDS];
    int64_t n = 0, table = m->padded_vocab * m->hidden;
    bool last_t =
        layout_first_layer(l, stage) < m->n_layers &&
        layout_first_layer(l, stage) + layout_stage(l, stage).n_layers ==
            m->n_layers;
    layout_stage_kinds(l, m, stage, counts);
    for (int k = 0; k < N_KINDS; k++)
        n += counts[k] * model_unit_params(m, (enum unit_kind)k);
    n += (last_t ? m->hidden : 0) - (counts[KIND_L] ? m->hidden : 0);
    bool copy =
        (counts[KIND_M] || (counts[KIND_L] && m->tied)) && !counts[KIND_E];
    return n + (copy ? table : 0);
}

static void check_stage(struct arena *a, const struct model *m,
                        const char *text, const struct layout *l, int stage)
{
    struct stage *s = NULL;
    struct err_msg msg = {""};
    int64_t acts[2];
    for (int n_slots = 1; n_slots <= 2; n_slots++) {
        struct stage_options opt = {.model = m,
                                    .layout = l,
                                    .stage = stage,
                                    .n_slots = n_slots,
                                    .mtp_factor = 0.1,
                                    .seed = 1};
        if (stage_new(a, &opt, &s, &msg) != ERR_OK) {
            fprintf(stderr, "%s: %s\n", text, msg.text);
            n_failed++;
            return;
        }
        expect(text, stage, table_count(&s->weights, s->n_weights),
               planned_params(m, l, stage), "parameters");
        expect(text, stage, stage_allocated_bytes(s),
               table_bytes(&s->weights) + table_bytes(&s->grads) +
                   table_bytes(&s->adam) + table_bytes(&s->acts),
               "bytes of the tables");
        expect(text, stage, s->adam.bytes, 2 * s->weights.bytes,
               "bytes of the moments");
        expect(text, stage, s->use_stage[USE_LOOKUP] == stage,
               s->dembedding[USE_LOOKUP] != NULL, "gradient of lookups");
        expect(text, stage, s->use_stage[USE_MTP] == stage,
               s->dembedding[USE_MTP] != NULL, "gradient of m's lookups");
        expect(text, stage, s->use_stage[USE_HEAD] == stage,
               s->dembedding[USE_HEAD] != NULL, "gradient of the head");
        acts[n_slots - 1] = s->acts.bytes;
        stage_free(s);
    }
    expect(text, stage, acts[1] > acts[0] && acts[1] < 2 * acts[0], 1,
           "a second micro-batch takes memory, scratch does not double");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *layout;
        bool tied;
        int n_mtp;
    } all[] = {{"Ett|tt|t|tmL", true, 1},   {"Ettt|tt|tm|L", true, 1},
               {"Ettt|ttt|mm|L", false, 2}, {"E|ttt|ttt|L", false, 0},
               {"Etttttt||mL", true, 1},    {"Ettttttm|||L", true, 1}};
    struct comm c;
    comm_init(&c, &argc, &argv);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((int)i % c.world != c.rank)
            continue;
        struct model m = model_of(all[i].tied, all[i].n_mtp);
        struct arena a;
        struct layout l;
        struct err_msg msg = {""};
        arena_init(&a);
        char *text = arena_strdup(&a, all[i].layout);
        if (layout_read_question(&a,
                                 &(struct layout_question){text, i == 4 ? 3 : 4,
                                                           m.n_layers, m.n_mtp},
                                 &l, &msg) != ERR_OK) {
            fprintf(stderr, "%s: %s\n", all[i].layout, msg.text);
            n_failed++;
        } else {
            for (int s = 0; s < l.n_stages; s++)
                check_stage(&a, &m, all[i].layout, &l, s);
        }
        arena_clear(&a);
    }
    int failed = (int)comm_max(&c, n_failed);
    comm_end(&c);
    return failed ? 1 : 0;
}
