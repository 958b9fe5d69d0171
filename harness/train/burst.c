/*
 * How it works: the same product of two square matrices of normal values, in
 * memory of its own, timed n times on every rank before each step. The median
 * over all ranks and times is robust against one rank that was interrupted.
 */
#include "burst.h"

#include "base/stats.h"

/* 0.18 Gflop: one to two milliseconds of one core, long enough for the clock
 * and short beside a step. */
enum { BURST_SIDE = 448 };

static void burst_carve(struct burst *b)
{
    b->a = tensors_carve_real(&b->memory, "burst_a", BURST_SIDE * BURST_SIDE);
    b->b = tensors_carve_real(&b->memory, "burst_b", BURST_SIDE * BURST_SIDE);
    b->c = tensors_carve_real(&b->memory, "burst_c", BURST_SIDE * BURST_SIDE);
}

/* Nothing is taken where no burst is asked for. */
enum err burst_new(struct arena *a, const struct comm *c, int n,
                   struct burst *out, struct err_msg *msg)
{
    struct burst b = {.n = n};
    tensors_init(&b.memory, "reference burst");
    *out = b;
    if (n == 0)
        return ERR_OK;
    b.time_s = arena_alloc(a, (size_t)n, sizeof *b.time_s);
    b.all_s = arena_alloc(a, (size_t)n * (size_t)c->world, sizeof *b.all_s);
    if (!b.time_s || !b.all_s)
        return err_set(msg, ERR_NOMEM, "reference burst: out of memory");
    burst_carve(&b);
    enum err e = tensors_alloc(&b.memory, msg);
    if (e != ERR_OK)
        return e;
    burst_carve(&b);
    tensors_normal(b.a, BURST_SIDE * BURST_SIDE, 1, 1);
    tensors_normal(b.b, BURST_SIDE * BURST_SIDE, 1, 2);
    *out = b;
    return ERR_OK;
}

void burst_free(struct burst *b)
{
    tensors_clear(&b->memory);
}

/* Gathered at the last rank, which prints the log; -1 elsewhere. */
double burst_run_ms(struct burst *b, const struct comm *c)
{
    struct ops o = {0};
    size_t n_all = (size_t)b->n * (size_t)c->world;
    if (b->n == 0)
        return -1;
    for (int i = 0; i < b->n; i++) {
        double start_s = comm_now(c);
        ops_gemm(&o, GEMM_NN, mat_of(b->a, BURST_SIDE, BURST_SIDE),
                 mat_of(b->b, BURST_SIDE, BURST_SIDE),
                 (struct gemm_out){mat_of(b->c, BURST_SIDE, BURST_SIDE), 1, 0});
        comm_work(c, &o);
        b->time_s[i] = comm_now(c) - start_s;
    }
    comm_gather(c, b->time_s, b->n, b->all_s);
    if (c->rank != c->world - 1)
        return -1;
    return 1e3 * stats_median(b->all_s, n_all);
}
