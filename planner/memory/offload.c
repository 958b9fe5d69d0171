#include "offload.h"

static enum unit_kind offload_kind(const struct model *m, int first,
                                   int n_layers, int i)
{
    return i < n_layers ? model_layer_kind(m, first + i) : KIND_M;
}

/* Groups without bytes are none: they do not count where a share is taken. */
static int groups_of_kind(const struct memory_terms *t, enum unit_kind kind)
{
    int n = 0;
    for (int g = 0; g < N_OFFLOAD; g++)
        n += t->offloads[kind][g] > 0;
    return n;
}

/* Every saved tensor is restored for itself, and an unfused attention saves its
 * probabilities twice, for the softmax and for the product with v. */
static int64_t restored_twice(const struct memory_terms *t, enum unit_kind kind)
{
    bool recomputed = t->model->memory.recompute >> RECOMPUTE_CORE_ATTN & 1U;
    return t->offloads[kind][OFFLOAD_CORE_ATTN] && !recomputed ? t->scores : 0;
}

/* Bytes of a layer's first groups, at most `*left` of them. */
static int64_t take(const struct memory_terms *t, enum unit_kind kind,
                    int *left)
{
    int64_t bytes = 0;
    for (int g = 0; g<N_OFFLOAD && * left> 0; g++) {
        bytes += t->offloads[kind][g];
        *left -= t->offloads[kind][g] > 0;
    }
    return bytes;
}

/* int(n * (1 - fraction)) of the later groups stay (post_warmup_callback()). */
struct memory_offload memory_offload(const struct memory_terms *t, int first,
                                     int n_layers, int n_mtp)
{
    const struct model *m = t->model;
    struct memory_offload out = {0, 0, 0};
    int all = 0;
    if (!m->memory.offload)
        return out;
    for (int i = 0; i < n_layers + n_mtp; i++)
        all += groups_of_kind(t, offload_kind(m, first, n_layers, i));
    int left = all - (int)(all * (1 - m->memory.offload_fraction));
    for (int i = 0; i < n_layers + n_mtp; i++) {
        enum unit_kind kind = offload_kind(m, first, n_layers, i);
        int64_t n = take(t, kind, &left);
        int64_t back = n ? n + restored_twice(t, kind) : 0;
        out.away += n;
        out.layer = n > out.layer ? n : out.layer;
        out.back = back > out.back ? back : out.back;
    }
    return out;
}
