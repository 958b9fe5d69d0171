#include "burst.h"

#include <stdlib.h>

enum { SIDE = 448 }; // 0.18 Gflop: one to two milliseconds of one core

static void burst_carve(struct burst *b)
{
    b->a = tensors_carve_real(&b->memory, "burst_a", SIDE * SIDE);
    b->b = tensors_carve_real(&b->memory, "burst_b", SIDE * SIDE);
    b->c = tensors_carve_real(&b->memory, "burst_c", SIDE * SIDE);
}

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
    tensors_normal(b.a, SIDE * SIDE, 1, 1);
    tensors_normal(b.b, SIDE * SIDE, 1, 2);
    *out = b;
    return ERR_OK;
}

void burst_free(struct burst *b)
{
    tensors_clear(&b->memory);
}

static int burst_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double burst_run_ms(struct burst *b, const struct comm *c)
{
    struct ops o = {0};
    size_t n_all = (size_t)b->n * (size_t)c->world;
    if (b->n == 0)
        return -1;
    for (int i = 0; i < b->n; i++) {
        double start_s = comm_now(c);
        ops_gemm(&o, GEMM_NN, mat_of(b->a, SIDE, SIDE),
                 mat_of(b->b, SIDE, SIDE),
                 (struct gemm_out){mat_of(b->c, SIDE, SIDE), 1, 0});
        comm_work(c, &o);
        b->time_s[i] = comm_now(c) - start_s;
    }
    comm_gather(c, b->time_s, b->n, b->all_s);
    if (c->rank != c->world - 1)
        return -1;
    qsort(b->all_s, n_all, sizeof *b->all_s, burst_by_value);
    double middle = b->all_s[n_all / 2] + b->all_s[(n_all - 1) / 2];
    return 1e3 * middle / 2;
}
