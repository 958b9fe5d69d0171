#include "memory/train.h"
#include "small_model.h"

#include <criterion/criterion.h>

/* small_model(): T = S = 32, C = 64, 4 heads of 16, 2 groups, 4 experts of 128,
 * top-2, 512 words, one MTP layer. All sizes are multiples of 64 bytes but
 * where tensors of T or of experts are. */
enum { T = 32, C = 64, A = 64, Q = 128, F = 128, N = 4, V = 512 };

static struct memory_train stage(const char *text, int s)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct memory_train out;
    struct model m = small_model();
    arena_init(&a);
    cr_assert_eq(layout_read_question(
                     &a,
                     &(struct layout_question){text, 4, m.n_layers, m.n_mtp},
                     &l, &msg),
                 ERR_OK);
    memory_train_stage(&m, &l, s, &out);
    arena_clear(&a);
    return out;
}

static const int64_t layer =
    4 * (2 * C + Q * C + C * A + N * C + N * 2 * F * C + N * C * F);

Test(memory_train, weights_of_layers_tables_and_norms)
{
    cr_assert_eq(stage("Et*2|t*3|t*3|mL", 0).weights, 2 * layer + 4 * V * C);
    cr_assert_eq(stage("Et*2|t*3|t*3|mL", 1).weights, 3 * layer);
    cr_assert_eq(stage("Et*2|t*3|t*3|mL", 2).weights, 3 * layer + 4 * C,
                 "the final norm is with the last layer");
    cr_assert_eq(stage("Et*2|t*3|t*3|mL", 3).weights,
                 layer + 4 * (3 * C + 2 * C * C) + 4 * V * C,
                 "one table for MTP and the tied head");
}

Test(memory_train, each_use_of_the_table_has_gradients_of_its_own)
{
    struct memory_train first = stage("Et*2|t*3|t*3|mL", 0);
    struct memory_train last = stage("Et*2|t*3|t*3|mL", 3);
    cr_assert_eq(first.grads, first.weights);
    cr_assert_eq(last.grads, last.weights + 4 * V * C);
    cr_assert_eq(last.adam, 2 * last.weights);
}

Test(memory_train, the_loss_keeps_logits_of_two_passes_in_each_slot)
{
    cr_assert_eq(stage("Et*2|t*3|t*3|mL", 3).head, 4 * 2 * T * V);
    cr_assert_eq(stage("Et*2|t*3|t*3|mL", 2).head, 0);
}

Test(memory_train, a_further_layer_adds_its_activations_and_a_state)
{
    struct memory_train two = stage("Et*2|t*3|t*3|mL", 0);
    struct memory_train three = stage("Et*3|t*2|t*3|mL", 0);
    int64_t rows = 2 * T;
    int64_t experts = T * N + 3 * rows + 16 + 2 * rows * C + rows * 3 * F;
    int64_t acts = 3 * T * C + 2 * T + T * Q + T * A + 4 * T * T + experts;
    cr_assert_eq(three.slot - two.slot, 4 * (acts + T * C));
    cr_assert_eq(three.work, two.work, "scratch is shared");
}

Test(memory_train, a_standalone_mtp_stage_starts_behind_the_last_layer)
{
    struct memory_train apart = stage("Et*3|t*5|m|L", 2);
    struct memory_train loss = stage("Et*3|t*5|m|L", 3);
    cr_assert_eq(apart.weights, layer + 4 * (3 * C + 2 * C * C + V * C));
    cr_assert_eq(apart.head, 0);
    cr_assert_eq(loss.weights, 4 * V * C, "the tied table alone");
}
