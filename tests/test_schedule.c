#include "schedule/schedule.h"

#include <criterion/criterion.h>

Test(schedule, in_flight_is_min_of_distance_and_micro_batches)
{
    for (int pp = 1; pp <= 7; pp++)
        for (int m = 1; m <= 9; m++) {
            struct arena a;
            struct schedule s;
            struct err_msg msg;
            arena_init(&a);
            cr_assert_eq(schedule_1f1b(&a, pp, m, &s, &msg), ERR_OK);
            for (int r = 0; r < pp; r++)
                cr_assert_eq(schedule_max_in_flight(&s, r),
                             pp - r < m ? pp - r : m);
            arena_clear(&a);
        }
}

/* [r>0]*(M + w + [M>w]) + [r<P-1]*(M+w), w = min(P-1-r, M) */
Test(schedule, exchanges_are_as_many_as_megatron_makes)
{
    for (int pp = 1; pp <= 7; pp++)
        for (int m = 1; m <= 9; m++) {
            struct arena a;
            struct schedule s;
            struct err_msg msg;
            arena_init(&a);
            cr_assert_eq(schedule_1f1b(&a, pp, m, &s, &msg), ERR_OK);
            for (int r = 0; r < pp; r++) {
                int w = pp - 1 - r < m ? pp - 1 - r : m;
                int want = (r > 0) * (m + w + (m > w)) + (r < pp - 1) * (m + w);
                cr_assert_eq(schedule_n_exchanges(&s, r), want,
                             "P %d M %d rank %d", pp, m, r);
            }
            arena_clear(&a);
        }
}

Test(schedule, every_micro_batch_goes_forward_once_then_backward_once)
{
    struct arena a;
    struct schedule s;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(schedule_1f1b(&a, 4, 6, &s, &msg), ERR_OK);
    for (int r = 0; r < 4; r++) {
        int next_forward = 0, next_backward = 0;
        for (int i = 0; i < s.ranks[r].n_ops; i++) {
            const struct op *op = &s.ranks[r].ops[i];
            if (op->kind == OP_FORWARD)
                cr_assert_eq(op->mb, next_forward++);
            if (op->kind == OP_BACKWARD) {
                cr_assert_eq(op->mb, next_backward++);
                cr_assert_lt(op->mb, next_forward);
            }
        }
        cr_assert_eq(next_forward, 6);
        cr_assert_eq(next_backward, 6);
    }
    arena_clear(&a);
}

Test(schedule, every_message_has_its_other_end)
{
    struct arena a;
    struct schedule s;
    struct err_msg msg;
    enum { P = 5, M = 7 };
    int ends[P][N_MESSAGES][M] = {{{0}}};
    arena_init(&a);
    cr_assert_eq(schedule_1f1b(&a, P, M, &s, &msg), ERR_OK);
    for (int r = 0; r < P; r++)
        for (int i = 0; i < s.ranks[r].n_ops; i++)
            for (int m = 0; m < N_MESSAGES; m++)
                if (s.ranks[r].ops[i].mbs[m] != NO_MB)
                    ends[r][m][s.ranks[r].ops[i].mbs[m]]++;
    for (int r = 0; r + 1 < P; r++)
        for (int mb = 0; mb < M; mb++) {
            cr_assert_eq(ends[r][SEND_FORWARD][mb], 1);
            cr_assert_eq(ends[r + 1][RECV_FORWARD][mb], 1);
            cr_assert_eq(ends[r + 1][SEND_BACKWARD][mb], 1);
            cr_assert_eq(ends[r][RECV_BACKWARD][mb], 1);
        }
    arena_clear(&a);
}

Test(schedule, sizes_are_bounded)
{
    struct arena a;
    struct schedule s;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(schedule_1f1b(&a, 0, 1, &s, &msg), ERR_RANGE);
    cr_assert_eq(schedule_1f1b(&a, 1, 0, &s, &msg), ERR_RANGE);
    cr_assert_eq(schedule_1f1b(&a, 1024, 65536, &s, &msg), ERR_RANGE);
    arena_clear(&a);
}
