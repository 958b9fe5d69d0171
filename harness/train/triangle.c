/*
 * How it works: a triangle is two smaller ones and the square between them.
 * Squares go to BLAS; triangles of a few rows are done here row by row, where
 * BLAS would compute the whole square.
 */
#include "triangle.h"

#include <string.h>

/* A triangle of so many rows is done by hand: with more it would be slower than
 * the square in BLAS, with fewer the products would be too small. It is even at
 * about a hundred rows; longer ones win, shorter ones lose. */
enum { TRIANGLE_BY_HAND = 8 };

/* Rows of the upper part, a multiple of the above. */
static int triangle_split(int n)
{
    int half = n / 2;
    return half - half % TRIANGLE_BY_HAND ? half - half % TRIANGLE_BY_HAND
                                          : TRIANGLE_BY_HAND;
}

static real *triangle_row(struct mat m, int row)
{
    return m.p + (int64_t)row * m.ld;
}

/* `n` rows, and as many columns; the square below them. */
static struct mat triangle_part(struct mat t, int first, int n)
{
    return mat_cols(mat_rows(t, first, n), first, n);
}

static struct mat triangle_square(struct mat t, int n)
{
    return mat_cols(mat_rows(t, n, t.rows - n), 0, n);
}

double triangle_pairs(int n)
{
    return 0.5 * n * (n + 1.0);
}

static void triangle_count(struct ops *o, int n, int k)
{
    o->work += 2.0 * triangle_pairs(n) * k;
}

/* y = beta * y, where y may be undefined when beta is 0, as in BLAS. */
static void scale_row(int n, real beta, real *y)
{
    if (beta == 0)
        memset(y, 0, (size_t)n * sizeof *y);
    for (int i = 0; beta != 0 && beta != 1 && i < n; i++)
        y[i] *= beta;
}

static void add_row(int n, real a, const real *restrict x, real *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* A triangle is two of half its side and a square: squares are left to BLAS,
 * small triangles are done by hand. */
void triangle_outer(struct ops *o, struct mat a, struct mat b, struct mat c,
                    real alpha)
{
    int n = c.rows, up = triangle_split(n), low = n - up;
    if (n > TRIANGLE_BY_HAND) {
        triangle_outer(o, mat_rows(a, 0, up), mat_rows(b, 0, up),
                       triangle_part(c, 0, up), alpha);
        ops_gemm(o, GEMM_NT, mat_rows(a, up, low), mat_rows(b, 0, up),
                 (struct gemm_out){triangle_square(c, up), alpha, 0});
        triangle_outer(o, mat_rows(a, up, low), mat_rows(b, up, low),
                       triangle_part(c, up, low), alpha);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            triangle_row(c, i)[j] =
                alpha * ops_dot(a.cols, triangle_row(a, i), triangle_row(b, j));
    triangle_count(o, n, a.cols);
}

/* The same rows of what is multiplied and of the result. */
static struct gemm_out rows_out(struct gemm_out out, int first, int n)
{
    return (struct gemm_out){mat_rows(out.c, first, n), out.alpha, out.beta};
}

static struct gemm_out added(struct gemm_out out)
{
    return (struct gemm_out){out.c, out.alpha, 1};
}

void triangle_times(struct ops *o, struct mat t, struct mat b,
                    struct gemm_out out)
{
    int n = t.rows, up = triangle_split(n), low = n - up;
    if (n > TRIANGLE_BY_HAND) {
        struct gemm_out below = rows_out(out, up, low);
        triangle_times(o, triangle_part(t, 0, up), mat_rows(b, 0, up),
                       rows_out(out, 0, up));
        ops_gemm(o, GEMM_NN, triangle_square(t, up), mat_rows(b, 0, up), below);
        triangle_times(o, triangle_part(t, up, low), mat_rows(b, up, low),
                       added(below));
        return;
    }
    for (int i = 0; i < n; i++) {
        scale_row(b.cols, out.beta, triangle_row(out.c, i));
        for (int j = 0; j <= i; j++)
            add_row(b.cols, out.alpha * triangle_row(t, i)[j],
                    triangle_row(b, j), triangle_row(out.c, i));
    }
    triangle_count(o, n, b.cols);
}

void triangle_transposed_times(struct ops *o, struct mat t, struct mat b,
                               struct gemm_out out)
{
    int n = t.rows, up = triangle_split(n), low = n - up;
    if (n > TRIANGLE_BY_HAND) {
        struct gemm_out above = rows_out(out, 0, up);
        triangle_transposed_times(o, triangle_part(t, 0, up),
                                  mat_rows(b, 0, up), above);
        ops_gemm(o, GEMM_TN, triangle_square(t, up), mat_rows(b, up, low),
                 added(above));
        triangle_transposed_times(o, triangle_part(t, up, low),
                                  mat_rows(b, up, low), rows_out(out, up, low));
        return;
    }
    for (int j = 0; j < n; j++) {
        scale_row(b.cols, out.beta, triangle_row(out.c, j));
        for (int i = j; i < n; i++)
            add_row(b.cols, out.alpha * triangle_row(t, i)[j],
                    triangle_row(b, i), triangle_row(out.c, j));
    }
    triangle_count(o, n, b.cols);
}
