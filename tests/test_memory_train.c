#include "memory/train.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <string.h>

/* small_model(): T = S = 32, C = 64, 4 heads of 16, 2 groups, 4 experts of 128,
 * top-2, 512 words, one MTP layer. All sizes are multiples of 64 bytes but
 * where tensors of T or of experts are. */
enum { T = 32, C = 64, A = 64, Q = 128, F = 128, N = 4, V = 512 };

static struct memory_train stage_of(const struct model *m, const char *text,
                                    int s)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct memory_train out;
    arena_init(&a);
    cr_assert_eq(layout_read_question(
                     &a,
                     &(struct layout_question){text, 4, m->n_layers, m->n_mtp},
                     &l, &msg),
                 ERR_OK);
    memory_train_stage(m, &l, s, &out);
    arena_clear(&a);
    return out;
}

static struct memory_train stage(const char *text, int s)
{
    struct model m = small_model();
    return stage_of(&m, text, s);
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

/* One table, whatever its uses, and rows of the 64 tokens that occur, for the
 * look-ups of E and of m. */
Test(memory_train, a_copy_of_the_table_has_one_gradient_and_a_few_rows)
{
    struct memory_train first = stage("Et*2|t*3|t*3|mL", 0);
    struct memory_train none = stage("Et*2|t*3|t*3|mL", 1);
    struct memory_train last = stage("Et*2|t*3|t*3|mL", 3);
    cr_assert_eq(first.grads, first.weights + 2 * 4 * 64 * C);
    cr_assert_eq(none.grads, none.weights);
    cr_assert_eq(last.grads, last.weights + 2 * 4 * 64 * C);
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

/* ---- halves of layers ---- */

/* The model with these symbols for its layers, and in an MTP part. */
static struct model halved(const char *symbols, const char *mtp)
{
    struct model m = small_model();
    m.symbols = symbols;
    m.mtp_symbols = mtp;
    m.n_layers = (int)strlen(symbols);
    return m;
}

Test(memory_train, pairs_of_halves_take_what_whole_layers_take)
{
    struct model m = halved("*E*E*E*E*E*E*E*E", "*E");
    for (int s = 0; s < 4; s++) {
        struct memory_train whole = stage("Et*2|t*3|t|t*2mL", s);
        struct memory_train pairs = stage_of(&m, "Et*4|t*6|tt|t*4mL", s);
        cr_expect_arr_eq(&whole, &pairs, sizeof whole, "stage %d", s);
    }
}

Test(memory_train, a_cut_within_a_layer_parts_its_weights_and_activations)
{
    struct model m = halved("*E*E*E*E*E*E*E*E", "*E");
    struct memory_train even = stage_of(&m, "Et*4|t*4|t*4|t*4mL", 1);
    struct memory_train more = stage_of(&m, "Et*4|t*5|t*3|t*4mL", 1);
    struct memory_train less = stage_of(&m, "Et*4|t*4|t*4|t*4mL", 2);
    struct memory_train late = stage_of(&m, "Et*4|t*5|t*3|t*4mL", 2);
    cr_expect_eq(more.weights - even.weights, 4 * (C + Q * C + C * A));
    cr_expect_eq(more.slot - even.slot,
                 4 * (T * C + T + T * Q + T * A + 4 * T * T + T * C),
                 "attention and the state behind it");
    cr_expect_eq(less.weights - late.weights, more.weights - even.weights);
    cr_expect_eq(less.slot - late.slot, more.slot - even.slot);
}

Test(memory_train, mtp_of_one_symbol_keeps_one_half)
{
    struct model both = halved("*E*E*E*E*E*E*E*E", "*E");
    struct model one = halved("*E*E*E*E*E*E*E*E", "E");
    struct memory_train two = stage_of(&both, "Et*4|t*4|t*4|t*4mL", 3);
    struct memory_train half = stage_of(&one, "Et*4|t*4|t*4|t*4mL", 3);
    cr_expect_eq(two.weights - half.weights, 4 * (C + Q * C + C * A));
    cr_expect_eq(two.slot - half.slot,
                 4 * (T * C + T + T * Q + T * A + 4 * T * T + T * C),
                 "and what passes between the two");
}

/* transformer_block.py: with the last layer where there is MTP, else with L. */
Test(memory_train, the_final_norm_is_with_the_loss_without_mtp)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct memory_train before, last;
    struct model m = small_model();
    m.n_mtp = 0;
    arena_init(&a);
    cr_assert_eq(
        layout_read_question(
            &a,
            &(struct layout_question){"Et*2|t*3|t*3|L", 4, m.n_layers, m.n_mtp},
            &l, &msg),
        ERR_OK);
    memory_train_stage(&m, &l, 2, &before);
    memory_train_stage(&m, &l, 3, &last);
    cr_expect_eq(before.weights, 3 * layer);
    cr_expect_eq(last.weights, 4 * C + 4 * V * C);
    cr_expect_eq(last.slot - last.head, 4 * (T + 2 * T * C) + 192,
                 "one state before the norm and one behind; samples");
    arena_clear(&a);
}

Test(memory_train, one_chunk_has_slots_for_what_is_in_flight)
{
    struct order o = {.pp = 4, .vpp = 1, .n_mb = 8};
    for (int r = 0; r < 4; r++)
        cr_expect_eq(memory_train_slots(&o, r, 0), 4 - r);
}

/* No slot is given to a second micro-batch before the first has left, walking
 * the operations; receives begin an operation early, sends end one late. */
Test(memory_train, slots_hold_what_walking_the_order_finds)
{
    const struct order all[] = {{4, 2, 8, 4, false},
                                {4, 2, 8, 8, false},
                                {2, 4, 7, 3, true},
                                {3, 3, 9, 4, false},
                                {4, 2, 8, 4, true}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int r = 0; r < all[i].pp; r++)
            for (int v = 0; v < all[i].vpp; v++) {
                double one[4] = {0};
                one[v] = 1;
                int flying = (int)order_peak(&all[i], r, one);
                int slots = memory_train_slots(&all[i], r, v);
                int ahead = r ? 1 : all[i].group - all[i].pp + 1;
                cr_expect(slots >= flying && slots <= flying + ahead + 1,
                          "case %zu, rank %d, chunk %d: %d in flight, %d slots",
                          i, r, v, flying, slots);
            }
}

Test(memory_train, a_rank_is_the_sum_of_its_chunks_with_one_table)
{
    struct arena a;
    struct layout l;
    struct err_msg msg;
    struct memory_train rank, first, last;
    struct model m = small_model();
    const struct order o = {.pp = 2, .vpp = 2, .n_mb = 4, .group = 2};
    arena_init(&a);
    cr_assert_eq(
        layout_read_question(&a,
                             &(struct layout_question){"Et*3|t*2|m|t*3L", 2,
                                                       m.n_layers, m.n_mtp},
                             &l, &msg),
        ERR_RANGE, "t after m");
    cr_assert_eq(
        layout_read_question(&a,
                             &(struct layout_question){"Et*3|t*2|t*3m|L", 2,
                                                       m.n_layers, m.n_mtp},
                             &l, &msg),
        ERR_OK);
    memory_train_rank(&m, &l, &o, 0, &rank);
    memory_train_stage(&m, &l, 0, &first);
    memory_train_stage(&m, &l, 2, &last);
    int64_t table = 4 * V * C;
    cr_expect_eq(rank.weights, first.weights + last.weights - table);
    cr_expect_eq(rank.grads, rank.weights + 2 * 4 * 64 * C, "E and m");
    cr_expect_eq(rank.slot, memory_train_slots(&o, 0, 0) * first.slot +
                                memory_train_slots(&o, 0, 1) * last.slot);
    arena_clear(&a);
}
