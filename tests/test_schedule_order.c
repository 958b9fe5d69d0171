#include "schedule/order.h"
#include "schedule/schedule.h"
#include "small_model.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

Test(order, one_chunk_a_rank_is_the_schedule)
{
    struct arena a;
    struct err_msg msg;
    for (int pp = 1; pp <= 5; pp++)
        for (int n_mb = 1; n_mb <= 9; n_mb++) {
            struct schedule s;
            arena_init(&a);
            schedule_1f1b(&a, pp, n_mb, &s, &msg);
            for (int r = 0; r < pp; r++) {
                struct order o = {pp, 1, n_mb, pp, false};
                int at = 0;
                for (int i = 0; i < s.ranks[r].n_ops; i++) {
                    const struct op *op = &s.ranks[r].ops[i];
                    if (op->kind == OP_EXCHANGE)
                        continue;
                    struct order_op mine = order_at(&o, r, at++);
                    bool forward = mine.kind == ORDER_FORWARD;
                    cr_assert_eq(forward, op->kind == OP_FORWARD);
                    cr_assert_eq(forward ? mine.fwd_mb : mine.bwd_mb, op->mb);
                    cr_assert_eq(forward ? mine.fwd_chunk : mine.bwd_chunk, 0);
                }
                cr_assert_eq(at, order_size(&o, r));
            }
            arena_clear(&a);
        }
}

enum { MAX = 64 };

/* Every chunk of every micro-batch once forward, then once backward; returns
 * the most in flight, a combined operation counting both its chunks. */
static int check(const struct order *o, int rank)
{
    bool forward[MAX][MAX] = {{false}}, backward[MAX][MAX] = {{false}};
    int n = 0, most = 0, all = 0;
    for (int i = 0; i < order_size(o, rank); i++) {
        struct order_op op = order_at(o, rank, i);
        bool gone = op.bwd_chunk >= 0 && forward[op.bwd_chunk][op.bwd_mb];
        if (op.fwd_chunk >= 0) {
            cr_assert_lt(op.fwd_chunk, o->vpp);
            cr_assert_lt(op.fwd_mb, o->n_mb);
            cr_assert_not(forward[op.fwd_chunk][op.fwd_mb]);
            forward[op.fwd_chunk][op.fwd_mb] = true;
            most = ++n > most ? n : most;
            all++;
        }
        if (op.bwd_chunk >= 0) {
            cr_assert_lt(op.bwd_chunk, o->vpp);
            cr_assert_lt(op.bwd_mb, o->n_mb);
            cr_assert(gone, "its forward was an earlier operation");
            cr_assert_not(backward[op.bwd_chunk][op.bwd_mb]);
            backward[op.bwd_chunk][op.bwd_mb] = true;
            n--;
        }
    }
    cr_assert_eq(n, 0);
    cr_assert_eq(all, o->n_mb * o->vpp);
    return most;
}

Test(order, interleaved_work_is_complete_and_in_flight_as_documented)
{
    for (int pp = 2; pp <= 4; pp++)
        for (int vpp = 2; vpp <= 3; vpp++)
            for (int n_mb = pp; n_mb <= 3 * pp + 1; n_mb++)
                for (int r = 0; r < pp; r++) {
                    struct order o = {pp, vpp, n_mb, pp, n_mb % 2 == 0};
                    if (order_check(&o, NULL) != ERR_OK)
                        continue;
                    int all = n_mb * vpp, warm = order_warmup(&o, r);
                    int want = warm + 1 < all ? warm + 1 : all;
                    cr_assert_eq(check(&o, r), want, "PP %d V %d M %d rank %d",
                                 pp, vpp, n_mb, r);
                    cr_assert_eq(order_max_in_flight(&o, r), want);
                }
}

Test(order, a_larger_group_warms_up_longer)
{
    struct order o = {4, 3, 10, 5, false};
    cr_assert_eq(order_warmup(&o, 3), 10);
    cr_assert_eq(check(&o, 3), 11);
    struct order_op op = order_at(&o, 3, 5);
    cr_assert_eq(op.kind, ORDER_FORWARD);
    cr_assert_eq(op.fwd_chunk, 1);
    cr_assert_eq(op.fwd_mb, 0);
}

/* The published recipe on 4 ranks with 4 chunks each, its usual count, and
 * one more on every rank with EP overlap. */
Test(order, four_by_four_has_its_known_chunks_in_flight)
{
    static const int plain[] = {19, 17, 15, 13};
    struct order o = {4, 4, 32, 4, false}, ep = o;
    ep.ep_overlap = true;
    const double one[] = {1, 1, 1, 1};
    for (int r = 0; r < 4; r++) {
        cr_assert_eq(order_max_in_flight(&o, r), plain[r]);
        cr_assert_eq(check(&o, r), plain[r]);
        cr_assert_float_eq(order_peak(&o, r, one), plain[r], 0);
        cr_assert_eq(order_max_in_flight(&ep, r), plain[r] + 1);
        cr_assert_eq(check(&ep, r), plain[r] + 1);
        cr_assert_float_eq(order_peak(&ep, r, one), plain[r] + 1, 0);
    }
}

/* F0, (F1 B0), (F2 B1), B2: one rank, one chunk. */
Test(order, combined_operations_pair_a_forward_with_the_backward_before)
{
    struct order o = {1, 1, 3, 1, true};
    cr_assert_eq(order_check(&o, NULL), ERR_OK);
    cr_assert_eq(order_size(&o, 0), 4);
    cr_assert_eq(order_at(&o, 0, 0).kind, ORDER_FORWARD);
    for (int i = 1; i < 3; i++) {
        struct order_op op = order_at(&o, 0, i);
        cr_assert_eq(op.kind, ORDER_COMBINED);
        cr_assert_eq(op.fwd_mb, i);
        cr_assert_eq(op.bwd_mb, i - 1);
    }
    cr_assert_eq(order_at(&o, 0, 3).kind, ORDER_BACKWARD);
    cr_assert_eq(order_max_in_flight(&o, 0), 2);
}

/* F0, (F1 B0), (F2 B1), B2 with four layers of 2 each: the last layer of the
 * forward joins when one of the backward is left; as many in flight as chunks
 * would be 16. Without layers the chunk is whole. */
Test(order, layers_of_a_combined_operation_come_and_go_in_pairs)
{
    const struct order o = {1, 1, 3, 1, true};
    const double act[] = {8};
    const int four[] = {4}, none[] = {0};
    cr_assert_float_eq(order_peak(&o, 0, act), 16, 0);
    cr_assert_float_eq(order_peak_layers(&o, 0, act, four), 10, 0);
    cr_assert_float_eq(order_peak_layers(&o, 0, act, none), 16, 0);
}

Test(order, chunks_in_flight_by_themselves)
{
    const struct order o = {4, 4, 32, 4, false};
    int most[4];
    order_max_in_flight_chunks(&o, 3, most);
    // 12 forwards of warm-up, a chunk's micro-batches of one group and more
    cr_assert(most[0] >= 4 && most[3] >= 1);
    cr_assert_leq(most[3], most[0]);
    for (int v = 0; v < 4; v++)
        cr_assert_leq(most[v], order_max_in_flight(&o, 3));
    const struct order one = {4, 1, 32, 4, false};
    for (int r = 0; r < 4; r++) {
        order_max_in_flight_chunks(&one, r, most);
        cr_assert_eq(most[0], 4 - r);
    }
}

Test(order, the_walk_for_a_peak_misses_none)
{
    const double weight[] = {5, 1, 7};
    for (int n_mb = 4; n_mb <= 40; n_mb++)
        for (int group = 4; group <= 9; group++)
            for (int r = 0; r < 4; r++) {
                struct order o = {4, 3, n_mb, group, n_mb % 3 == 0};
                if (order_check(&o, NULL) != ERR_OK)
                    continue;
                double now = 0, most = 0;
                for (int i = 0; i < order_size(&o, r); i++) {
                    struct order_op op = order_at(&o, r, i);
                    now += op.fwd_chunk < 0 ? 0 : weight[op.fwd_chunk];
                    most = now > most ? now : most;
                    now -= op.bwd_chunk < 0 ? 0 : weight[op.bwd_chunk];
                }
                cr_assert_float_eq(order_peak(&o, r, weight), most, 0);
            }
}

Test(order, the_place_of_an_operation_is_the_inverse)
{
    struct order o = {3, 3, 13, 5, false};
    cr_assert_eq(order_check(&o, NULL), ERR_OK);
    for (int k = 0; k < 39; k++) {
        struct order_op f = order_forward(&o, k), b = order_backward(&o, k);
        cr_assert_eq(order_forward_index(&o, f.fwd_chunk, f.fwd_mb), k);
        cr_assert_eq(order_backward_index(&o, b.bwd_chunk, b.bwd_mb), k);
    }
}

static const struct {
    struct order o;
    const char *reason; // NULL: accepted
} refusals[] = {
    {{4, 1, 2, 9, false}, NULL},
    {{4, 2, 8, 4, false}, NULL},
    {{4, 2, 9, 5, false}, NULL},
    {{2, 2, 2, 2, false}, NULL},
    {{1, 1, 5, 1, true}, NULL},
    {{11, 2, 17, 18, false}, "[11, 17]: got 18, want 17"},
    {{4, 2, 8, 3, false}, "group size must be in [P, M]"},
    {{10, 3, 24, 10, false}, "want groups of 12, 13, 14 or 24"},
    {{4, 2, 3, 4, false}, "want at least 4 micro-batches"},
    {{1, 2, 4, 1, false}, "interleaving needs P>1"},
    {{6, 1, 16, 6, true}, "EP overlap with P>1 needs interleaving"},
    {{0, 1, 4, 1, false}, "pipeline size: got 0"},
    {{2, 0, 4, 1, false}, "chunks a rank: got 0"},
    {{2, 1, 0, 1, false}, "micro-batches: got 0"},
    {{1024, 1, 65536, 1, false}, "want at most 16777216"},
};

Test(order, refuses_what_megatron_refuses_and_says_what_would_do)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct err_msg msg = {""};
        enum err e = order_check(&refusals[i].o, &msg);
        if (!refusals[i].reason) {
            cr_expect_eq(e, ERR_OK, "%zu: %s", i, msg.text);
            continue;
        }
        cr_expect_eq(e, ERR_RANGE, "%zu", i);
        cr_expect(strstr(msg.text, refusals[i].reason), "%zu: %s", i, msg.text);
    }
}

Test(order, a_model_asks_for_its_order)
{
    struct model m = small_model();
    m.par.vpp = 2;
    struct order o = order_of_model(&m);
    cr_expect(o.pp == 4 && o.vpp == 2 && o.n_mb == 6 && !o.ep_overlap);
    cr_expect_eq(o.group, 4, "the number of ranks by default");
    m.memory.mb_group = 6;
    m.overlap_moe_comm = true;
    o = order_of_model(&m);
    cr_expect(o.group == 6 && o.ep_overlap);
    cr_expect_eq(order_check(&o, NULL), ERR_OK);
}

Test(order, too_many_micro_batches_of_a_model_stay_too_many)
{
    struct model m = small_model();
    m.batch.n_microbatches = ORDER_MAX_MB;
    struct order o = order_of_model(&m);
    cr_expect_eq(order_check(&o, NULL), ERR_OK);
    m.batch.n_microbatches = (INT64_C(1) << 32) + 8; // 8 in an int
    o = order_of_model(&m);
    cr_expect_eq(order_check(&o, NULL), ERR_RANGE);
}
