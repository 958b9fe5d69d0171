#include "fsdp.h"

enum { MOMENTS = 8, BF16 = 2, FP32 = 4 }; // bytes; Adam has two fp32 moments

/* Weights of one type: a value's bytes, and of its gradient. */
struct type {
    int64_t value, gradient;
};

static struct type type_of(const struct memory_options *o, bool fp8)
{
    int64_t plain = o->fp32 ? FP32 : BF16;
    struct type t = {fp8 ? 1 : plain, fp8 ? BF16 : plain};
    if (o->fsdp_grad_bytes)
        t.gradient = o->fsdp_grad_bytes;
    return t;
}

static int64_t shard(int64_t n, int64_t replicas, bool divided)
{
    return divided ? (n + replicas - 1) / replicas : n;
}

/* The optimiser works on gradients of the main weights' type, and where the
 * buffer has another, a converted copy of the shard stays until the next step
 * (update_main_grads()). */
static void fsdp_add(const struct memory_options *o, int64_t n, struct type t,
                     int64_t replicas, struct memory_rank *out)
{
    const int64_t main_bytes = o->fsdp_main_bytes;
    int64_t copy = main_bytes && main_bytes != t.gradient ? main_bytes : 0;
    out->param_bytes += t.value * shard(n, replicas, o->fsdp == FSDP_ALL);
    out->grad_bytes +=
        t.gradient * shard(n, replicas, o->fsdp >= FSDP_OPTIM_GRADS);
    out->optimizer_bytes += (main_bytes + MOMENTS + copy) *
                            shard(n, replicas, o->fsdp >= FSDP_OPTIM);
}

/* Weights outside of the decoder layers are gathered once and never let go
 * (AllGatherPipeline.reset()). */
void memory_fsdp(const struct memory_options *o, const struct memory_held *held,
                 const struct memory_groups *g, struct memory_rank *out)
{
    const struct weight_sums *s = &held->sums, *outside = &held->outside;
    const struct type plain = type_of(o, false), cast = type_of(o, true);
    int64_t fp8 = o->fp8_params ? s->linear : 0;
    int64_t fp8_expert = o->fp8_params ? s->expert_linear : 0;
    int64_t fp8_outside = o->fp8_params ? outside->linear : 0;
    fsdp_add(o, s->dense - (fp8 - fp8_expert), plain, g->dense, out);
    fsdp_add(o, fp8 - fp8_expert, cast, g->dense, out);
    fsdp_add(o, s->expert - fp8_expert, plain, g->expert, out);
    fsdp_add(o, fp8_expert, cast, g->expert, out);
    if (o->fsdp == FSDP_ALL)
        out->param_bytes += plain.value * (outside->dense - fp8_outside) +
                            cast.value * fp8_outside;
}
