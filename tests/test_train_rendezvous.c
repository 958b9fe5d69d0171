#include "base/arena.h"
#include "train/rendezvous.h"

#include <criterion/criterion.h>

static enum err check(struct order o, enum p2p_mode mode, bool shapes)
{
    struct arena a;
    struct schedule s;
    struct err_msg msg = {""};
    arena_init(&a);
    enum err e = schedule_build(&a, &o, mode, &s, &msg);
    cr_assert_eq(e, ERR_OK, "%s", msg.text);
    e = rendezvous_check(&a, &s, shapes, &msg);
    arena_clear(&a);
    return e;
}

/* Megatron's lists end under synchronous sends, whatever the order and mode. */
Test(train_rendezvous, every_list_without_shapes_ends)
{
    for (int p = 3; p <= 5; p++)
        for (int v = 1; v <= 3; v++)
            for (int m = p; m <= 3 * p; m += p)
                for (int mode = P2P_BLOCKING; mode < N_P2P_MODES; mode++) {
                    if (v == 1 && mode != P2P_BLOCKING)
                        continue;
                    struct order o = {p, v, m, p, v > 1 && m % 2};
                    cr_expect_eq(check(o, (enum p2p_mode)mode, false), ERR_OK,
                                 "P%d V%d M%d mode %d", p, v, m, mode);
                }
}

/* domain facts: interleaved, blocking and M = N, for instance PP4 VPP2 M4 */
Test(train_rendezvous, shapes_before_blocking_transfers_can_hang)
{
    struct order o = {.pp = 4, .vpp = 2, .n_mb = 4, .group = 4};
    cr_expect_eq(check(o, P2P_BLOCKING, true), ERR_RANGE);
    cr_expect_eq(check(o, P2P_BLOCKING, false), ERR_OK);
    cr_expect_eq(check(o, P2P_OVERLAP, true), ERR_OK);
    o.n_mb = 8;
    cr_expect_eq(check(o, P2P_BLOCKING, true), ERR_OK, "groups of 4 of 8");
    o.vpp = 1;
    cr_expect_eq(check(o, P2P_BLOCKING, true), ERR_OK, "one chunk a rank");
}

/* Two ranks that both receive first. */
Test(train_rendezvous, a_ring_of_waits_is_found)
{
    struct op first[2];
    struct rank_ops ranks[2] = {{&first[0], 1}, {&first[1], 1}};
    struct schedule s = {.pp = 2, .vpp = 1, .n_mb = 1, .ranks = ranks};
    struct arena a;
    struct err_msg msg = {""};
    arena_init(&a);
    for (int r = 0; r < 2; r++)
        first[r] = (struct op){.kind = OP_EXCHANGE,
                               .mbs = {NO_MB, NO_MB, NO_MB, NO_MB}};
    first[0].mbs[RECV_BACKWARD] = first[1].mbs[RECV_FORWARD] = 0;
    cr_expect_eq(rendezvous_check(&a, &s, false, &msg), ERR_RANGE);
    first[0].mbs[RECV_BACKWARD] = NO_MB;
    first[0].mbs[SEND_FORWARD] = 0;
    cr_expect_eq(rendezvous_check(&a, &s, false, &msg), ERR_OK);
    arena_clear(&a);
}
