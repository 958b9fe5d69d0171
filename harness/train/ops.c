/*
 * How it works: products of any size go to BLAS; everything else is a plain
 * loop. Reductions keep OPS_LANES partial sums that are added at the end,
 * because a compiler may not reorder one running sum, and so cannot vectorise
 * it.
 */
#include "ops.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* One vector of 512 bits of floats, two of 256: enough for both. */
enum { OPS_LANES = 16 };

static const double norm_eps = 1e-5; // Megatron's --norm-epsilon

#ifdef REAL_DOUBLE
static real real_exp(real x)
{
    return exp(x);
}
#else
/* Cephes' expf for x <= 80: x = n ln2 + r, a polynomial in r; unlike the
 * library's it can be vectorised. Relative error below 2e-7. Below -80 it
 * stays at exp(-80), so that no product with it becomes subnormal: those cost
 * a hundred cycles each. */
static inline real real_exp(real x)
{
    x = x < -80.0f ? -80.0f : x;
    float shifted = x * 1.44269504f + 12582912.0f; // rounds to an integer
    float n = shifted - 12582912.0f;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4B400000u + 127u) << 23;
    float two_n;
    memcpy(&two_n, &bits, sizeof two_n);
    return p * two_n;
}
#endif

/* The limits keep the quotient away from subnormal numbers even where the
 * compiler computes both sides of a branch. */
static inline real ops_sigmoid(real x)
{
    x = x < -40 ? -40 : x;
    x = x > 40 ? 40 : x;
    return 1 / (1 + real_exp(-x));
}

struct mat mat_of(real *p, int rows, int cols)
{
    return (struct mat){p, rows, cols, cols};
}

struct mat mat_rows(struct mat m, int first, int rows)
{
    return (struct mat){m.p + (int64_t)first * m.ld, rows, m.cols, m.ld};
}

struct mat mat_cols(struct mat m, int first, int cols)
{
    return (struct mat){m.p + first, m.rows, cols, m.ld};
}

static inline real *row_of(struct mat m, int row)
{
    return m.p + (int64_t)row * m.ld;
}

/* `each`: floating-point operations for an element. */
static void ops_add_work(struct ops *o, double rows, double cols, double each)
{
    o->work += rows * cols * each;
}

void ops_gemm(struct ops *o, enum gemm_form form, struct mat a, struct mat b,
              struct gemm_out out)
{
    int k = form == GEMM_TN ? a.rows : a.cols;
    CBLAS_TRANSPOSE ta = form == GEMM_TN ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = form == GEMM_NT ? CblasTrans : CblasNoTrans;
    if (out.c.rows == 0 || out.c.cols == 0 || k == 0)
        return;
    ops_add_work(o, out.c.rows, out.c.cols, 2.0 * k);
#ifdef REAL_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, out.c.rows, out.c.cols, k, out.alpha,
                a.p, a.ld, b.p, b.ld, out.beta, out.c.p, out.c.ld);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, out.c.rows, out.c.cols, k, out.alpha,
                a.p, a.ld, b.p, b.ld, out.beta, out.c.p, out.c.ld);
#endif
}

void ops_linear(struct ops *o, struct mat x, struct mat w, struct mat y)
{
    ops_gemm(o, GEMM_NT, x, w, (struct gemm_out){y, 1, 0});
}

void ops_linear_dx(struct ops *o, struct mat dy, struct mat w, struct mat dx,
                   bool add)
{
    ops_gemm(o, GEMM_NN, dy, w, (struct gemm_out){dx, 1, add ? 1 : 0});
}

void ops_linear_dw(struct ops *o, struct mat dy, struct mat x, struct mat dw)
{
    ops_gemm(o, GEMM_TN, dy, x, (struct gemm_out){dw, 1, 1});
}

/* In one order, so that a sum is the same bits in every build: halves are
 * added, and halves of that, which is four steps instead of sixteen. Overwrites
 * the lanes. */
static real lane_sum(real lane[OPS_LANES])
{
    for (int half = OPS_LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

/* Lanes make vectors of it, and fix the order of the sum for every length. */
real ops_dot(int n, const real *a, const real *b)
{
    real lane[OPS_LANES] = {0};
    int i = 0;
    for (; i + OPS_LANES <= n; i += OPS_LANES)
        for (int j = 0; j < OPS_LANES; j++)
            lane[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        lane[i % OPS_LANES] += a[i] * b[i];
    return lane_sum(lane);
}

static real row_sum(int n, const real *a)
{
    real lane[OPS_LANES] = {0};
    int i = 0;
    for (; i + OPS_LANES <= n; i += OPS_LANES)
        for (int j = 0; j < OPS_LANES; j++)
            lane[j] += a[i + j];
    for (; i < n; i++)
        lane[i % OPS_LANES] += a[i];
    return lane_sum(lane);
}

/* Softmax subtracts it, so that exp() does not overflow. */
static real row_max(int n, const real *a)
{
    real lane[OPS_LANES];
    for (int j = 0; j < OPS_LANES; j++)
        lane[j] = a[0];
    int i = 0;
    for (; i + OPS_LANES <= n; i += OPS_LANES)
        for (int j = 0; j < OPS_LANES; j++)
            lane[j] = a[i + j] > lane[j] ? a[i + j] : lane[j];
    for (; i < n; i++)
        lane[0] = a[i] > lane[0] ? a[i] : lane[0];
    real max = lane[0];
    for (int j = 1; j < OPS_LANES; j++)
        max = lane[j] > max ? lane[j] : max;
    return max;
}

/* The backward pass takes 1/rms again: it is kept. */
void ops_rmsnorm(struct ops *o, struct mat x, const real *w, struct mat y,
                 real *inv)
{
    for (int t = 0; t < x.rows; t++) {
        const real *xt = row_of(x, t);
        real *yt = row_of(y, t);
        double mean = (double)ops_dot(x.cols, xt, xt) / x.cols;
        inv[t] = (real)(1.0 / sqrt(mean + norm_eps));
        for (int c = 0; c < x.cols; c++)
            yt[c] = xt[c] * inv[t] * w[c];
    }
    ops_add_work(o, x.rows, x.cols, 4);
}

/* With n = x*inv: dx = inv * (dy*w - n * mean(dy*w*n)), dw = dy*n. */
void ops_rmsnorm_back(struct ops *o, const struct norm_back *b)
{
    int C = b->x.cols;
    for (int t = 0; t < b->x.rows; t++) {
        const real *x = row_of(b->x, t), *dy = row_of(b->dy, t);
        real *dx = row_of(b->dx, t), inv = b->inv[t];
        real lane[OPS_LANES] = {0};
        int c = 0;
        for (; c + OPS_LANES <= C; c += OPS_LANES)
            for (int j = 0; j < OPS_LANES; j++)
                lane[j] += dy[c + j] * b->w[c + j] * x[c + j];
        for (; c < C; c++)
            lane[c % OPS_LANES] += dy[c] * b->w[c] * x[c];
        real k = lane_sum(lane) * inv * inv * inv / (real)C;
        for (c = 0; c < C; c++) {
            b->dw[c] += dy[c] * x[c] * inv;
            dx[c] += dy[c] * b->w[c] * inv - x[c] * k;
        }
    }
    ops_add_work(o, b->x.rows, C, 11);
}

void ops_swiglu(struct ops *o, struct mat gu, struct mat a)
{
    int F = a.cols;
    for (int n = 0; n < a.rows; n++) {
        const real *g = row_of(gu, n), *u = g + F;
        real *an = row_of(a, n);
        for (int f = 0; f < F; f++)
            an[f] = g[f] * ops_sigmoid(g[f]) * u[f];
    }
    ops_add_work(o, a.rows, F, 10);
}

/* silu'(g) = s + g s (1 - s) with s = sigmoid(g). */
void ops_swiglu_back(struct ops *o, struct mat gu, struct mat da)
{
    int F = da.cols;
    for (int n = 0; n < da.rows; n++) {
        real *restrict g = row_of(gu, n);
        real *restrict u = g + F;
        const real *restrict d = row_of(da, n);
        for (int f = 0; f < F; f++) {
            real s = ops_sigmoid(g[f]);
            real silu = g[f] * s;
            g[f] = d[f] * u[f] * (s + silu * (1 - s));
            u[f] = d[f] * silu;
        }
    }
    ops_add_work(o, da.rows, F, 15);
}

/* exp(row - max) in place; returns the sum. */
static real exp_row(real *row, int n, real max)
{
    for (int i = 0; i < n; i++)
        row[i] = real_exp(row[i] - max);
    return row_sum(n, row);
}

void ops_softmax_row(real *row, int n, int width)
{
    real scale = 1 / exp_row(row, n, row_max(n, row));
    for (int i = 0; i < n; i++)
        row[i] *= scale;
    for (int i = n; i < width; i++)
        row[i] = 0;
}

/* Loss of a token: log(sum exp(z - max)) + max - z[label]; gradient:
 * softmax(z) - 1 at the label. The largest logit is taken off first. The work
 * of a masked row is counted too: Megatron does it and multiplies by 0. */
double ops_cross_entropy(struct ops *o, struct mat logits, const int *labels,
                         real scale)
{
    double loss = 0;
    for (int t = 0; t < logits.rows; t++) {
        real *z = row_of(logits, t);
        if (labels[t] < 0) {
            memset(z, 0, (size_t)logits.cols * sizeof *z);
            continue;
        }
        real max = row_max(logits.cols, z), z_label = z[labels[t]];
        real sum = exp_row(z, logits.cols, max);
        loss += log((double)sum) + (double)max - (double)z_label;
        real k = scale / sum;
        for (int v = 0; v < logits.cols; v++)
            z[v] *= k;
        z[labels[t]] -= scale;
    }
    ops_add_work(o, logits.rows, logits.cols, 10);
    return loss;
}

void ops_embed(struct ops *o, struct mat table, const int *tokens, struct mat x)
{
    for (int t = 0; t < x.rows; t++)
        memcpy(row_of(x, t), row_of(table, tokens[t]),
               (size_t)x.cols * sizeof(real));
    ops_add_work(o, x.rows, x.cols, 1);
}

/* A token may occur twice: rows are added one after the other. */
void ops_embed_back(struct ops *o, struct mat dtable, const int *row,
                    struct mat dx)
{
    for (int t = 0; t < dx.rows; t++) {
        const real *d = row_of(dx, t);
        real *w = row_of(dtable, row[t]);
        for (int c = 0; c < dx.cols; c++)
            w[c] += d[c];
    }
    ops_add_work(o, dx.rows, dx.cols, 1);
}

void ops_add(struct ops *o, int64_t n, const real *x, real *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
    o->work += (double)n;
}

double ops_square_sum(struct ops *o, int64_t n, const real *x)
{
    double lane[OPS_LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + OPS_LANES <= n; i += OPS_LANES)
        for (int j = 0; j < OPS_LANES; j++)
            lane[j] += (double)x[i + j] * (double)x[i + j];
    for (; i < n; i++)
        lane[i % OPS_LANES] += (double)x[i] * (double)x[i];
    for (int j = 0; j < OPS_LANES; j++)
        sum += lane[j];
    o->work += 2.0 * (double)n;
    return sum;
}

/* Loshchilov and Hutter 2019, algorithm 2, with the bias corrections taken out
 * of the loop; moments are biased as they are kept. */
void ops_adamw(struct ops *o, const struct adamw *a, int64_t n,
               struct adamw_state s)
{
    real b1 = (real)a->beta1, b2 = (real)a->beta2, eps = (real)a->eps;
    // formed from doubles: 1 - 0.999f is off by 1e-5 of itself
    real new1 = (real)(1 - a->beta1), new2 = (real)(1 - a->beta2);
    real scale = (real)a->grad_scale, keep = (real)(1 - a->lr * a->decay);
    real rate = (real)(a->lr / (1 - pow(a->beta1, (double)a->step)));
    real fix2 = (real)(1 / sqrt(1 - pow(a->beta2, (double)a->step)));
    for (int64_t i = 0; i < n; i++) {
        real g = s.g[i] * scale;
        s.m[i] = b1 * s.m[i] + new1 * g;
        s.v[i] = b2 * s.v[i] + new2 * g * g;
#ifdef REAL_DOUBLE
        real root = sqrt(s.v[i]);
#else
        real root = sqrtf(s.v[i]);
#endif
        s.w[i] = s.w[i] * keep - rate * s.m[i] / (root * fix2 + eps);
    }
    o->work += 14.0 * (double)n;
}
