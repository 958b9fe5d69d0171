#include "schedule/memory_order.h"
#include "schedule/schedule.h"

#include <criterion/criterion.h>
#include <string.h>

Test(memory_order, one_chunk_a_rank_is_the_schedule)
{
    struct arena a;
    struct err_msg msg;
    for (int pp = 1; pp <= 5; pp++)
        for (int n_mb = 1; n_mb <= 9; n_mb++) {
            struct schedule s;
            arena_init(&a);
            schedule_1f1b(&a, pp, n_mb, &s, &msg);
            for (int r = 0; r < pp; r++) {
                struct memory_order o = {pp, 1, r, n_mb, pp};
                int at = 0;
                for (int i = 0; i < s.ranks[r].n_ops; i++) {
                    const struct op *op = &s.ranks[r].ops[i];
                    if (op->kind == OP_EXCHANGE)
                        continue;
                    struct memory_op mine = memory_order_at(&o, at++);
                    cr_assert_eq(mine.forward, op->kind == OP_FORWARD);
                    cr_assert_eq(mine.mb, op->mb);
                    cr_assert_eq(mine.chunk, 0);
                }
                cr_assert_eq(at, memory_order_size(&o));
            }
            arena_clear(&a);
        }
}

enum { MAX = 64 };

/* Every chunk of every micro-batch once forward, then once backward. */
static int check(const struct memory_order *o)
{
    bool forward[MAX][MAX] = {{false}}, backward[MAX][MAX] = {{false}};
    int n = 0, most = 0;
    for (int i = 0; i < memory_order_size(o); i++) {
        struct memory_op op = memory_order_at(o, i);
        cr_assert(op.chunk >= 0 && op.chunk < o->vpp);
        cr_assert(op.mb >= 0 && op.mb < o->n_mb);
        bool *seen =
            op.forward ? &forward[op.chunk][op.mb] : &backward[op.chunk][op.mb];
        cr_assert_not(*seen);
        *seen = true;
        if (!op.forward)
            cr_assert(forward[op.chunk][op.mb]);
        n += op.forward ? 1 : -1;
        most = n > most ? n : most;
    }
    cr_assert_eq(n, 0);
    return most;
}

Test(memory_order, interleaved_work_is_complete_and_in_flight_as_documented)
{
    for (int pp = 2; pp <= 4; pp++)
        for (int vpp = 2; vpp <= 3; vpp++)
            for (int n_mb = pp; n_mb <= 3 * pp + 1; n_mb++)
                for (int r = 0; r < pp; r++) {
                    int rest = n_mb % pp;
                    if (rest && rest < pp) // Megatron refuses it
                        continue;
                    struct memory_order o = {pp, vpp, r, n_mb, pp};
                    int all = n_mb * vpp, warm = memory_order_warmup(&o);
                    int want = warm + 1 < all ? warm + 1 : all;
                    cr_assert_eq(check(&o), want, "PP %d V %d M %d rank %d", pp,
                                 vpp, n_mb, r);
                }
}

Test(memory_order, a_larger_group_warms_up_longer)
{
    struct memory_order o = {4, 3, 3, 10, 5};
    cr_assert_eq(memory_order_warmup(&o), 10);
    cr_assert_eq(check(&o), 11);
    struct memory_op op = memory_order_at(&o, 5);
    cr_assert(op.forward && op.chunk == 1 && op.mb == 0);
}
