#include "train/experts.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void fill(real *x, int n, double scale, int salt)
{
    for (int i = 0; i < n; i++)
        x[i] = (real)(scale * sin(1.7 * i + salt));
}

/* Each token's output is the weighted sum of its experts' outputs. */
Test(experts, equal_a_loop_over_tokens)
{
    enum { T = 7, C = 6, N = 4, K = 2, F = 5 };
    static real router[N * C], gu[N * 2 * F * C], down[N * C * F];
    real x[T * C], y[T * C] = {0};
    struct experts e = {T, C, N, K, F};
    struct experts_weights w = {router, gu, down};
    struct experts_acts acts;
    struct tensors memory;
    struct ops o = {0};
    fill(router, N * C, 1, 1);
    fill(gu, N * 2 * F * C, 0.7, 2);
    fill(down, N * C * F, 0.7, 3);
    fill(x, T * C, 1, 4);
    tensors_init(&memory, "activations");
    experts_carve_acts(&e, &memory, &acts);
    cr_assert_eq(tensors_alloc(&memory, NULL), ERR_OK);
    experts_carve_acts(&e, &memory, &acts);
    struct experts_pass p = {.ops = &o, .w = &w, .acts = &acts};
    experts_forward(&e, &p, mat_of(x, T, C), mat_of(y, T, C));
    for (int t = 0; t < T; t++) {
        double score[N], want[C] = {0}, total = 0;
        int n_better[N] = {0};
        for (int i = 0; i < N; i++)
            score[i] = (double)ops_dot(C, x + t * C, router + i * C);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                n_better[i] += score[j] > score[i];
        for (int i = 0; i < N; i++)
            total += n_better[i] < K ? exp(score[i]) : 0;
        for (int i = 0; i < N; i++)
            for (int f = 0; n_better[i] < K && f < F; f++) {
                const real *row = gu + (i * 2 * F + f) * C;
                double g = (double)ops_dot(C, x + t * C, row);
                double u = (double)ops_dot(C, x + t * C, row + F * C);
                double act = g / (1 + exp(-g)) * u * exp(score[i]) / total;
                for (int c = 0; c < C; c++)
                    want[c] += act * (double)down[(i * C + c) * F + f];
            }
        for (int c = 0; c < C; c++)
            cr_expect_float_eq(y[t * C + c], want[c], 1e-4);
    }
    tensors_clear(&memory);
}

Test(experts, work_depends_on_shapes_only)
{
    enum { T = 16, C = 8, N = 4, K = 2, F = 5 };
    static real w_router[N * C], w_gu[N * 2 * F * C], w_down[N * C * F];
    real x[T * C], y[T * C];
    struct experts e = {T, C, N, K, F};
    struct experts_weights w = {w_router, w_gu, w_down};
    struct experts_acts acts;
    struct tensors memory;
    double work[2];
    tensors_init(&memory, "activations");
    experts_carve_acts(&e, &memory, &acts);
    cr_assert_eq(tensors_alloc(&memory, NULL), ERR_OK);
    experts_carve_acts(&e, &memory, &acts);
    for (int run = 0; run < 2; run++) {
        struct ops o = {0};
        struct experts_pass p = {.ops = &o, .w = &w, .acts = &acts};
        memset(w_router, 0, sizeof w_router); // all to the first two experts
        if (run)
            fill(w_router, N * C, 1, 6);
        fill(x, T * C, 1, 7);
        experts_forward(&e, &p, mat_of(x, T, C), mat_of(y, T, C));
        work[run] = o.work;
    }
    cr_expect_eq(work[0], work[1]);
    cr_expect_gt(work[0], 0);
    tensors_clear(&memory);
}
