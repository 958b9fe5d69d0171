#include "train/triangle.h"

#include <criterion/criterion.h>
#include <math.h>

enum { N_MAX = 70, K = 9, LD = N_MAX + 3 };

/* single precision, sums of up to 70 terms of about 1 */
static const double tolerance = 2e-5;

static real a[N_MAX * K], b[N_MAX * K], t[N_MAX * LD];

static void fill(real *x, int n, int salt)
{
    for (int i = 0; i < n; i++)
        x[i] = (real)sin(1.7 * i + salt);
}

/* What lies above the diagonal must not be read. */
static void fill_triangle(int n)
{
    fill(t, N_MAX * LD, 3);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            t[i * LD + j] = (real)NAN;
}

static struct mat triangle(int n)
{
    return (struct mat){t, n, n, LD};
}

Test(triangle, outer_is_the_lower_half_of_the_product)
{
    fill(a, N_MAX * K, 1);
    fill(b, N_MAX * K, 2);
    for (int n = 0; n <= N_MAX; n++) {
        struct ops o = {0};
        fill_triangle(n);
        triangle_outer(&o, mat_of(a, n, K), mat_of(b, n, K), triangle(n), 2);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double want = 0;
                for (int k = 0; k < K; k++)
                    want += 2 * (double)a[i * K + k] * (double)b[j * K + k];
                if (j > i)
                    cr_assert(isnan(t[i * LD + j]), "n %d: written", n);
                else
                    cr_assert_float_eq(t[i * LD + j], want, tolerance,
                                       "n %d, %d %d", n, i, j);
            }
        cr_assert_eq(o.work, 2.0 * K * n * (n + 1) / 2, "n %d", n);
    }
}

/* beta 0 must not read what was there. */
static void check_times(bool transposed, real beta)
{
    real c[N_MAX * K];
    fill(b, N_MAX * K, 2);
    for (int n = 1; n <= N_MAX; n++) {
        struct ops o = {0};
        struct gemm_out out = {mat_of(c, n, K), 3, beta};
        fill_triangle(n);
        for (int i = 0; i < n * K; i++)
            c[i] = beta == 0 ? (real)NAN : 5;
        if (transposed)
            triangle_transposed_times(&o, triangle(n), mat_of(b, n, K), out);
        else
            triangle_times(&o, triangle(n), mat_of(b, n, K), out);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < K; k++) {
                double want = beta == 0 ? 0 : 5 * (double)beta;
                for (int j = 0; j < n; j++)
                    if (transposed ? j >= i : j <= i)
                        want += 3 * (double)b[j * K + k] *
                                (double)(transposed ? t[j * LD + i]
                                                    : t[i * LD + j]);
                cr_assert_float_eq(c[i * K + k], want, tolerance, "n %d", n);
            }
        cr_assert_eq(o.work, 2.0 * K * n * (n + 1) / 2, "n %d", n);
    }
}

Test(triangle, times_a_matrix)
{
    check_times(false, 0);
    check_times(false, (real)0.5);
    check_times(false, 1);
}

Test(triangle, transposed_times_a_matrix)
{
    check_times(true, 0);
    check_times(true, (real)0.5);
    check_times(true, 1);
}
