#include "sim/transfer.h"

#include <criterion/criterion.h>

static struct model model_of(int tp, int cp, bool sequence_parallel)
{
    return (struct model){
        .hidden = 64,
        .par = {.tp = tp, .cp = cp, .pp = 2, .world = 2 * tp * cp},
        .batch = {.micro_batch = 2, .seq_tokens = 4096},
        .memory = {.sequence_parallel = sequence_parallel}};
}

/* 2 sequences x 4096 tokens x 64 values of 2 bytes: 1 MiB. */
static const double whole = 1 << 20;

Test(transfer, tensor_parallel_ranks_send_whole_hidden_states)
{
    struct model m = model_of(4, 1, false);
    cr_expect_float_eq(transfer_bytes(&m, 2, 1), whole, 0);
}

Test(transfer, sequence_parallelism_divides_by_tensor_parallel_ranks)
{
    struct model m = model_of(4, 1, true);
    cr_expect_float_eq(transfer_bytes(&m, 2, 1), whole / 4, 0);
}

Test(transfer, context_parallelism_always_divides)
{
    struct model m = model_of(4, 2, false);
    cr_expect_float_eq(transfer_bytes(&m, 2, 1), whole / 2, 0);
    m = model_of(4, 2, true);
    cr_expect_float_eq(transfer_bytes(&m, 2, 1), whole / 8, 0);
}

Test(transfer, grows_with_the_values_and_the_states)
{
    struct model m = model_of(1, 1, false);
    cr_expect_float_eq(transfer_bytes(&m, 4, 1), 2 * whole, 0);
    cr_expect_float_eq(transfer_bytes(&m, 2, 3), 3 * whole, 0);
}
