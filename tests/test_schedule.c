#include "schedule/schedule.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

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
    // lists are bounded below what an order may have
    cr_assert_eq(schedule_1f1b(&a, 2, 65536, &s, &msg), ERR_OK);
    cr_assert_eq(schedule_1f1b(&a, 3, 65536, &s, &msg), ERR_RANGE);
    cr_assert(strstr(msg.text, "want at most 131072 of a simulation"));
    arena_clear(&a);
}

/* ---- virtual stages ---- */

enum { MAX_MESSAGES = 4096 };

/* What a rank sends to one neighbour, or receives from it, in order: boundary
 * and micro-batch. */
struct line {
    int boundary[MAX_MESSAGES], mb[MAX_MESSAGES];
    int n;
};

static void collect(const struct schedule *s, int rank, enum message m,
                    struct line *out)
{
    out->n = 0;
    for (int i = 0; i < s->ranks[rank].n_ops; i++) {
        const struct op *op = &s->ranks[rank].ops[i];
        if (op->mbs[m] == NO_MB || op->kind == OP_WAIT)
            continue;
        cr_assert_lt(out->n, MAX_MESSAGES);
        out->boundary[out->n] = schedule_boundary(s, rank, op, m);
        out->mb[out->n++] = op->mbs[m];
    }
}

/* What is posted and not yet waited for, by message, boundary, micro-batch. */
static void check_waits(const struct schedule *s, int rank)
{
    enum { STAGES = 32, MB = 32 };
    static bool open[N_MESSAGES][STAGES][MB];
    memset(open, 0, sizeof open);
    int n_open = 0;
    for (int i = 0; i < s->ranks[rank].n_ops; i++) {
        const struct op *op = &s->ranks[rank].ops[i];
        for (int m = 0; m < N_MESSAGES; m++) {
            if (op->mbs[m] == NO_MB || op->kind == OP_EXCHANGE)
                continue;
            int b = schedule_boundary(s, rank, op, (enum message)m);
            bool *o = &open[m][b][op->mbs[m]];
            cr_assert_eq(*o, op->kind == OP_WAIT, "rank %d operation %d", rank,
                         i);
            *o = op->kind == OP_POST;
            n_open += *o ? 1 : -1;
        }
    }
    cr_assert_eq(n_open, 0, "rank %d: all that is posted is waited for", rank);
}

/* Inputs have come, and nothing is sent before it is there. */
static void check_inputs(const struct schedule *s, int rank)
{
    enum { STAGES = 32, MB = 32 };
    static bool here[2][STAGES][MB], made[2][STAGES][MB];
    memset(here, 0, sizeof here);
    memset(made, 0, sizeof made);
    const int last = s->pp * s->vpp - 1;
    for (int i = 0; i < s->ranks[rank].n_ops; i++) {
        const struct op *op = &s->ranks[rank].ops[i];
        const int stage = op->chunk * s->pp + rank;
        const int back = op->bwd_chunk * s->pp + rank;
        if (op->kind == OP_FORWARD || op->kind == OP_COMBINED) {
            cr_assert(stage == 0 || here[0][stage][op->mb]);
            made[0][stage][op->mb] = true;
        }
        if (op->kind == OP_BACKWARD) {
            cr_assert(stage == last || here[1][stage][op->mb]);
            made[1][stage][op->mb] = true;
        }
        if (op->kind == OP_COMBINED) {
            cr_assert(back == last || here[1][back][op->bwd_mb]);
            made[1][back][op->bwd_mb] = true;
        }
        for (int m = 0; m < N_MESSAGES; m++) {
            if (op->mbs[m] == NO_MB)
                continue;
            const int way = m == SEND_BACKWARD || m == RECV_BACKWARD;
            const int of = op->chunks[m] * s->pp + rank;
            if (m == RECV_FORWARD || m == RECV_BACKWARD)
                here[way][of][op->mbs[m]] = op->kind != OP_POST;
            else
                cr_assert(made[way][of][op->mbs[m]]);
        }
    }
}

static void check_lists(const struct order *o, enum p2p_mode mode)
{
    struct arena a;
    struct schedule s;
    struct err_msg msg = {""};
    static struct line sent, received;
    arena_init(&a);
    cr_assert_eq(schedule_build(&a, o, mode, &s, &msg), ERR_OK, "%s", msg.text);
    for (int r = 0; r < o->pp; r++) {
        for (int m = 0; m < N_MESSAGES; m += 2) {
            int peer = schedule_peer(&s, r, (enum message)m);
            collect(&s, r, (enum message)m, &sent);
            collect(&s, peer, (enum message)(m + 1), &received);
            cr_assert_eq(sent.n, received.n);
            for (int i = 0; i < sent.n; i++) {
                cr_assert_eq(sent.boundary[i], received.boundary[i]);
                cr_assert_eq(sent.mb[i], received.mb[i]);
            }
        }
        check_waits(&s, r);
        check_inputs(&s, r);
    }
    arena_clear(&a);
}

/* In every mode: what one rank sends the other receives, in the same order, so
 * that a trainer needs no names for messages; what is posted is waited for
 * once; work finds its input. */
Test(schedule, every_list_can_be_executed)
{
    int n = 0;
    for (int pp = 2; pp <= 5; pp++)
        for (int vpp = 1; vpp <= 4; vpp++)
            for (int group = pp; group <= pp + 3; group++)
                for (int n_mb = 1; n_mb <= 4 * pp + 1; n_mb++)
                    for (int k = 0; k < 2 * N_P2P_MODES; k++) {
                        enum p2p_mode mode = (enum p2p_mode)(k / 2);
                        struct order o = {pp, vpp, n_mb, group, k % 2 == 1};
                        bool taken = vpp == 1
                                         ? mode == P2P_BLOCKING
                                         : mode >= P2P_BLOCKING &&
                                               (pp > 2 || mode != P2P_BLOCKING);
                        if (!taken || order_check(&o, NULL) != ERR_OK)
                            continue;
                        check_lists(&o, mode);
                        n++;
                    }
    cr_assert_gt(n, 1000);
}

Test(schedule, work_of_every_mode_is_the_orders)
{
    struct arena a;
    struct err_msg msg;
    const struct order o = {3, 2, 11, 4, false};
    for (int mode = 0; mode < N_P2P_MODES; mode++) {
        struct schedule s;
        arena_init(&a);
        cr_assert_eq(schedule_build(&a, &o, (enum p2p_mode)mode, &s, &msg),
                     ERR_OK);
        for (int r = 0; r < 3; r++) {
            int at = 0;
            for (int i = 0; i < s.ranks[r].n_ops; i++) {
                const struct op *op = &s.ranks[r].ops[i];
                if (op->kind != OP_FORWARD && op->kind != OP_BACKWARD)
                    continue;
                struct order_op want = order_at(&o, r, at++);
                bool forward = want.kind == ORDER_FORWARD;
                cr_assert_eq(forward, op->kind == OP_FORWARD);
                cr_assert_eq(op->chunk,
                             forward ? want.fwd_chunk : want.bwd_chunk);
                cr_assert_eq(op->mb, forward ? want.fwd_mb : want.bwd_mb);
            }
            cr_assert_eq(at, order_size(&o, r));
        }
        arena_clear(&a);
    }
}

Test(schedule, modes_that_megatron_does_not_have_are_refused)
{
    struct arena a;
    struct schedule s;
    struct err_msg msg = {""};
    const struct order one = {4, 1, 8, 4, false}, two = {2, 2, 8, 2, false};
    arena_init(&a);
    cr_assert_eq(schedule_build(&a, &one, P2P_OVERLAP, &s, &msg), ERR_RANGE);
    cr_assert(strstr(msg.text, "want blocking"), "%s", msg.text);
    cr_assert_eq(schedule_build(&a, &two, P2P_BLOCKING, &s, &msg), ERR_RANGE);
    cr_assert(strstr(msg.text, "want overlap"), "%s", msg.text);
    arena_clear(&a);
}
