#include "train/ops.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* single precision, sums of some tens of terms */
static const double tolerance = 2e-6;

static void fill(real *x, int n, double scale, int salt)
{
    for (int i = 0; i < n; i++)
        x[i] = (real)(scale * sin(1.7 * i + salt));
}

Test(ops, gemm_forms_equal_triple_loop)
{
    enum { M = 3, N = 5, K = 4 };
    real a[M * K], b[K * N], at[K * M], bt[N * K], c[M * N];
    struct ops o = {0};
    fill(a, M * K, 1, 1);
    fill(b, K * N, 1, 2);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            at[k * M + i] = a[i * K + k];
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            bt[j * K + k] = b[k * N + j];
    const struct mat ma[] = {mat_of(a, M, K), mat_of(a, M, K),
                             mat_of(at, K, M)};
    const struct mat mb[] = {mat_of(b, K, N), mat_of(bt, N, K),
                             mat_of(b, K, N)};
    for (int form = GEMM_NN; form <= GEMM_TN; form++) {
        for (int i = 0; i < M * N; i++)
            c[i] = 10;
        ops_gemm(&o, (enum gemm_form)form, ma[form], mb[form],
                 (struct gemm_out){mat_of(c, M, N), 2, 0.5});
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double want = 5;
                for (int k = 0; k < K; k++)
                    want += 2.0 * (double)a[i * K + k] * (double)b[k * N + j];
                cr_expect_float_eq(c[i * N + j], want, 1e-5, "form %d", form);
            }
    }
    cr_expect_float_eq(o.work, 3 * 2.0 * M * N * K, 1e-9);
}

Test(ops, dot_and_square_sum_hold_for_every_length)
{
    real x[70], y[70];
    struct ops o = {0};
    fill(x, 70, 1, 3);
    fill(y, 70, 1, 4);
    for (int n = 0; n <= 70; n++) {
        double dot = 0, square = 0;
        for (int i = 0; i < n; i++) {
            dot += (double)x[i] * (double)y[i];
            square += (double)x[i] * (double)x[i];
        }
        cr_expect_float_eq(ops_dot(n, x, y), dot, 1e-5, "n %d", n);
        cr_expect_float_eq(ops_square_sum(&o, n, x), square, 1e-9, "n %d", n);
    }
}

Test(ops, softmax_of_wide_scores_sums_to_one)
{
    real row[40];
    for (int n = 1; n <= 40; n += 13) {
        double sum = 0, want = 0;
        fill(row, 40, 30, n);
        real kept[40];
        memcpy(kept, row, sizeof row);
        for (int i = 0; i < n; i++)
            want += exp((double)kept[i]);
        ops_softmax_row(row, n, 40);
        for (int i = 0; i < n; i++) {
            cr_expect_float_eq(row[i], exp((double)kept[i]) / want, tolerance);
            sum += (double)row[i];
        }
        for (int i = n; i < 40; i++)
            cr_expect_eq(row[i], 0);
        cr_expect_float_eq(sum, 1, 1e-5);
    }
}

Test(ops, swiglu_equals_its_formula_also_far_out)
{
    enum { F = 9 };
    const real gate[F] = {-200, -50, -9, -0.5, 0, 0.5, 9, 50, 200};
    real gu[2 * F], a[F];
    struct ops o = {0};
    for (int f = 0; f < F; f++) {
        gu[f] = gate[f];
        gu[F + f] = 1.5;
    }
    ops_swiglu(&o, mat_of(gu, 1, 2 * F), mat_of(a, 1, F));
    for (int f = 0; f < F; f++) {
        double g = (double)gate[f], want = 1.5 * g / (1 + exp(-g));
        cr_expect_float_eq(a[f], want, 1e-6 * fmax(1, fabs(want)), "gate %g",
                           g);
    }
}

Test(ops, softmax_and_swiglu_keep_nan)
{
    real row[20] = {0}, a[8], gu[16] = {0};
    struct ops o = {0};
    row[3] = gu[2] = (real)NAN;
    ops_softmax_row(row, 20, 20);
    ops_swiglu(&o, mat_of(gu, 1, 16), mat_of(a, 1, 8));
    cr_expect(isnan(row[3]));
    cr_expect(isnan(a[2]));
}

Test(ops, cross_entropy_gives_loss_and_gradient)
{
    enum { T = 3, V = 21 };
    real z[T * V], kept[T * V];
    const int labels[T] = {0, 20, 7};
    struct ops o = {0};
    double want = 0;
    fill(z, T * V, 4, 9);
    memcpy(kept, z, sizeof z);
    double loss = ops_cross_entropy(&o, mat_of(z, T, V), labels, 0.25);
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int v = 0; v < V; v++)
            sum += exp((double)kept[t * V + v]);
        want += log(sum) - (double)kept[t * V + labels[t]];
        for (int v = 0; v < V; v++)
            cr_expect_float_eq(
                z[t * V + v],
                0.25 * (exp((double)kept[t * V + v]) / sum - (v == labels[t])),
                tolerance);
    }
    cr_expect_float_eq(loss, want, 1e-5);
}

Test(ops, cross_entropy_of_a_masked_row_is_nothing)
{
    enum { T = 2, V = 5 };
    real z[T * V], alone[V];
    const int labels[T] = {-1, 3};
    struct ops o = {0};
    fill(z, T * V, 4, 9);
    memcpy(alone, z + V, sizeof alone);
    double loss = ops_cross_entropy(&o, mat_of(z, T, V), labels, 0.25);
    cr_expect_eq(loss,
                 ops_cross_entropy(&o, mat_of(alone, 1, V), labels + 1, 0.25));
    for (int v = 0; v < V; v++) {
        cr_expect_eq(z[v], 0);
        cr_expect_eq(z[V + v], alone[v]);
    }
}

Test(ops, adamw_takes_the_first_step_of_its_paper)
{
    real w[2] = {1, -2}, m[2] = {0}, v[2] = {0};
    const real g[2] = {4, -0.5};
    const struct adamw a = {.lr = 0.1,
                            .beta1 = 0.9,
                            .beta2 = 0.99,
                            .eps = 1e-12,
                            .decay = 0.5,
                            .grad_scale = 0.5,
                            .step = 1};
    struct ops o = {0};
    ops_adamw(&o, &a, 2, (struct adamw_state){w, m, v, g});
    /* corrected moments give a step of lr against the gradient's sign */
    cr_expect_float_eq(w[0], 1 - 0.05 - 0.1, tolerance);
    cr_expect_float_eq(w[1], -2 + 0.1 + 0.1, tolerance);
    cr_expect_float_eq(m[0], 0.2, tolerance);
}

/* A float's 1 - 0.999f is off by 1e-5, and the moments with it. */
Test(ops, adamw_keeps_to_doubles_over_many_steps)
{
    real w = (real)0.7, m = 0, v = 0;
    double want_w = (double)w, want_m = 0, want_v = 0;
    struct adamw a = {.lr = 0.01,
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .eps = 1e-8,
                      .decay = 0.01,
                      .grad_scale = 1};
    struct ops o = {0};
    for (a.step = 1; a.step <= 100; a.step++) {
        const real g = (real)sin((double)a.step);
        double n = (double)a.step;
        ops_adamw(&o, &a, 1, (struct adamw_state){&w, &m, &v, &g});
        want_m = 0.9 * want_m + 0.1 * (double)g;
        want_v = 0.999 * want_v + 0.001 * (double)g * (double)g;
        want_w -= 0.01 * 0.01 * want_w;
        want_w -= 0.01 * want_m / (1 - pow(0.9, n)) /
                  (sqrt(want_v / (1 - pow(0.999, n))) + 1e-8);
    }
    cr_expect_float_eq(v, want_v, tolerance * want_v);
    cr_expect_float_eq(m, want_m, tolerance);
    cr_expect_float_eq(w, want_w, tolerance);
}
