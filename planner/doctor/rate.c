/*
 * How it works: Megatron's own count has changed over its versions, so ours is
 * stated in words; what is not known is NAN and makes what follows NAN.
 */
#include "rate.h"

#include <math.h>
#include <stddef.h>

const char *const RATE_RULE =
    "model FLOPs: two a multiply-add, backward twice the forward, attention "
    "causal (half), experts by top-k, one output pass and one more for each "
    "MTP layer; recompute, norms and look-ups are not counted";

double rate_step_flops(const struct model *m, int64_t sequences)
{
    double forward = 0;
    for (int k = 0; k < N_KINDS; k++)
        forward += model_unit_count(m, (enum unit_kind)k) *
                   model_unit_fwd_flops(m, (enum unit_kind)k);
    return 3 * forward * (double)sequences / (double)m->batch.micro_batch;
}

/* What was stated wins over the table. */
static void rate_peak(const struct rate_question *q, struct rate *r)
{
    const bool fp8 = q->model && q->model->memory.fp8;
    if (q->peak_flops > 0) {
        r->peak_flops = q->peak_flops;
        r->peak_source = "as given";
    } else if (q->card) {
        r->peak_flops = fp8 ? q->card->flops8 : q->card->flops16;
        r->peak_source = q->card->source;
    }
}

/* What is not known is NAN and makes all that follows from it so. */
void rate_work_out(const struct rate_question *q, struct rate *out)
{
    const double unknown = (double)NAN;
    struct rate r = {unknown, unknown, unknown, unknown, NULL};
    const double ranks = q->world > 0 ? (double)q->world : unknown;
    rate_peak(q, &r);
    if (q->sequences > 0 && q->seq_tokens > 0)
        r.tokens_per_s =
            (double)q->sequences * (double)q->seq_tokens / q->step_s / ranks;
    if (q->model && q->sequences > 0)
        r.flops_per_s =
            rate_step_flops(q->model, q->sequences) / q->step_s / ranks;
    r.mfu = r.flops_per_s / r.peak_flops;
    *out = r;
}
