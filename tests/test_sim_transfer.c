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

/* W ranks a stage, G a node; true where rank r and its peer W further on are
 * on different nodes for any of the stage's ranks. */
Test(transfer, boundaries_leave_a_node_where_a_peer_is_on_another)
{
    static const struct {
        int world, pp, gpus_per_node;
        const char *between; // a digit a boundary, the last one wraps around
    } cases[] = {{8, 4, 0, "0000"}, // nothing said: one node
                 {8, 4, 8, "0000"}, {8, 4, 4, "0101"},
                 {8, 4, 2, "1111"}, // a stage a node
                 {8, 2, 8, "00"},   {16, 2, 8, "11"},
                 {6, 3, 4, "011"},  // stages 0, 1 | 2
                 {12, 3, 8, "011"}, // stage 2 alone on the second node
                 {12, 3, 6, "111"}, // stage 1 is on both nodes
                 {8, 1, 4, "0"}};   // one stage: nobody else
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct parallel par = {.world = cases[i].world};
        for (int r = 0; r < cases[i].pp; r++)
            cr_expect_eq(transfer_between_nodes(&par, cases[i].pp,
                                                cases[i].gpus_per_node, r),
                         cases[i].between[r] == '1', "case %zu rank %d", i, r);
    }
}
