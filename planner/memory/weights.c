#include "weights.h"

/* Both groups of parameters, dense and of experts, are buffers of their own in
 * Megatron, in which every weight starts at a multiple of this. */
enum { START_ELEMENTS = 64 }; // param_and_grad_buffer.py, start alignment

void memory_add_weight(struct weight_sums *sums, const struct weight *w)
{
    const struct weight_use *use = &WEIGHT_USE[w->role];
    int64_t one = w->rows * w->cols, n = weight_params(w);
    int64_t padded =
        (one + START_ELEMENTS - 1) / START_ELEMENTS * START_ELEMENTS * w->count;
    if (!use->trained)
        return;
    *(w->expert ? &sums->expert : &sums->dense) += n;
    *(w->expert ? &sums->expert_padded : &sums->dense_padded) += padded;
    sums->n_dense += w->expert ? 0 : w->count;
    if (use->muon)
        *(w->expert ? &sums->expert_matrix : &sums->dense_matrix) += n;
    if (use->fp8)
        sums->linear += n;
    if (use->fp8 && w->expert)
        sums->expert_linear += n;
}

struct weight_sums memory_unit_sums(const struct model *m, enum unit_kind kind)
{
    const struct weight_shares shares = weights_shares(m);
    struct weight_sums sums = {0};
    struct weights t;
    weights_of_unit(m, kind, &shares, &t);
    for (int i = 0; i < t.n; i++)
        memory_add_weight(&sums, &t.row[i]);
    return sums;
}

void memory_add_sums(struct weight_sums *to, const struct weight_sums *s, int n)
{
    to->dense += n * s->dense;
    to->expert += n * s->expert;
    to->dense_matrix += n * s->dense_matrix;
    to->expert_matrix += n * s->expert_matrix;
    to->linear += n * s->linear;
    to->expert_linear += n * s->expert_linear;
    to->dense_padded += n * s->dense_padded;
    to->expert_padded += n * s->expert_padded;
    to->n_dense += n * s->n_dense;
}
