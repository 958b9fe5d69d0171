#include "memory/fsdp.h"
#include "small_model.h"

#include <criterion/criterion.h>

/* 1000 dense parameters, of which 600 linear and 200 outside of layers; 800
 * experts', of which 700 linear. */
static const struct memory_held held = {.sums = {.dense = 1000,
                                                 .expert = 800,
                                                 .linear = 1300,
                                                 .expert_linear = 700},
                                        .outside = {.dense = 200}};

static const struct memory_groups groups = {.dense = 8, .expert = 4};

static struct memory_rank of(struct memory_options o)
{
    struct memory_rank r = {.params = 0};
    memory_fsdp(&o, &held, &groups, &r);
    return r;
}

/* strategy; wanted bytes of bf16 parameters with fp32 gradients, main
 * parameters and moments */
static const struct {
    enum memory_fsdp fsdp;
    int64_t params, grads, optimizer;
} strategies[] = {
    {FSDP_NO_SHARD, 2 * 1800, 4 * 1800, 12 * 1800},
    {FSDP_OPTIM, 2 * 1800, 4 * 1800, 12 * (125 + 200)},
    {FSDP_OPTIM_GRADS, 2 * 1800, 4 * (125 + 200), 12 * (125 + 200)},
    // what is outside of layers stays gathered
    {FSDP_ALL, 2 * (125 + 200) + 2 * 200, 4 * (125 + 200), 12 * (125 + 200)},
};

Test(memory_fsdp, a_strategy_divides_what_its_name_says)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        struct memory_rank r =
            of((struct memory_options){.fsdp = strategies[i].fsdp,
                                       .fsdp_main_bytes = 4,
                                       .fsdp_grad_bytes = 4});
        cr_assert_eq(r.param_bytes, strategies[i].params, "row %zu", i);
        cr_assert_eq(r.grad_bytes, strategies[i].grads, "row %zu", i);
        cr_assert_eq(r.optimizer_bytes, strategies[i].optimizer, "row %zu", i);
    }
}

Test(memory_fsdp, gradients_of_another_type_are_kept_converted)
{
    struct memory_rank r =
        of((struct memory_options){.fsdp = FSDP_ALL, .fsdp_main_bytes = 4});
    cr_assert_eq(r.grad_bytes, 2 * (125 + 200), "as the parameters: bf16");
    cr_assert_eq(r.optimizer_bytes, (4 + 8 + 4) * (125 + 200));
    r = of((struct memory_options){
        .fsdp = FSDP_ALL, .fp32 = true, .fsdp_main_bytes = 4});
    cr_assert_eq(r.optimizer_bytes, (4 + 8) * (125 + 200), "one type already");
    r = of((struct memory_options){.fsdp = FSDP_ALL});
    cr_assert_eq(r.optimizer_bytes, 8 * (125 + 200), "no main parameters");
}

Test(memory_fsdp, fp8_parameters_have_one_byte_and_bf16_gradients)
{
    struct memory_rank r = of((struct memory_options){.fsdp = FSDP_ALL,
                                                      .fp32 = true,
                                                      .fp8_params = true,
                                                      .fsdp_main_bytes = 4});
    // dense 400 plain and 600 cast over 8; experts 100 and 700 over 4
    int64_t plain = 50 + 25, cast = 75 + 175;
    cr_assert_eq(r.param_bytes, 4 * plain + cast + 4 * 200);
    cr_assert_eq(r.grad_bytes, 4 * plain + 2 * cast);
    cr_assert_eq(r.optimizer_bytes, (4 + 8) * plain + (4 + 8 + 4) * cast);
}

Test(memory_fsdp, shards_are_rounded_up)
{
    const struct memory_held odd = {.sums = {.dense = 9}};
    struct memory_rank r = {.params = 0};
    struct memory_options o = {.fsdp = FSDP_ALL, .fsdp_main_bytes = 4};
    memory_fsdp(&o, &odd, &groups, &r);
    cr_assert_eq(r.param_bytes, 2 * 2);
}
