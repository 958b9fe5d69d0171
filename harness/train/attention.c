/*
 * How it works: each head of each sequence is two products with a softmax
 * between them. Scores (S,S) are a lower triangle, half of the square, as FLOPs
 * are counted; nothing above the diagonal is computed. Probabilities are kept
 * for the backward pass, which is what makes long sequences dear.
 */
#include "attention.h"

#include "triangle.h"

#include <math.h>

int64_t attention_probs_count(const struct attention *a)
{
    return (int64_t)a->n_seq * a->n_heads * a->seq * a->seq;
}

/* Angles s * 10000^(-2i/D), as Su et al. 2021 (RoFormer) and Megatron's default
 * base. */
void attention_fill_rotary(const struct attention *a, real *cosine, real *sine)
{
    int half = a->dim / 2;
    for (int s = 0; s < a->seq; s++)
        for (int i = 0; i < half; i++) {
            double angle = s * pow(10000.0, -2.0 * i / a->dim);
            cosine[(int64_t)s * half + i] = (real)cos(angle);
            sine[(int64_t)s * half + i] = (real)sin(angle);
        }
}

/* Rotates the pair (x[i], x[i + D/2]) of each head by its position's angle,
 * back when sign is -1. */
static void attention_rotate(const struct attention *a, struct ops *o,
                             struct mat qkv, real sign)
{
    int half = a->dim / 2, n_rotated = a->n_heads + a->n_groups;
    for (int t = 0; t < qkv.rows; t++) {
        const real *c = a->cosine + (int64_t)(t % a->seq) * half;
        const real *s = a->sine + (int64_t)(t % a->seq) * half;
        for (int head = 0; head < n_rotated; head++) {
            real *x = qkv.p + (int64_t)t * qkv.ld + head * a->dim;
            for (int i = 0; i < half; i++) {
                real u = x[i], v = x[i + half];
                x[i] = u * c[i] - sign * v * s[i];
                x[i + half] = v * c[i] + sign * u * s[i];
            }
        }
    }
    o->work += 3.0 * qkv.rows * n_rotated * a->dim;
}

/* Columns of one head in the rows of one sequence: part 0 q, 1 k, 2 v. */
static struct mat head_of(const struct attention *a, struct mat qkv, int seq,
                          int column)
{
    return mat_cols(mat_rows(qkv, seq * a->seq, a->seq), column * a->dim,
                    a->dim);
}

/* One head at work: views into the rows of its sequence. */
struct head {
    struct mat q, k, v;
    real *probs;
    int seq, index, first_of_group;
};

/* Heads of one group have the same keys and values. */
static struct head get_head(const struct attention *a, struct mat qkv,
                            real *probs, int i)
{
    int seq = i / a->n_heads, h = i % a->n_heads;
    int per_group = a->n_heads / a->n_groups, g = h / per_group;
    return (struct head){.q = head_of(a, qkv, seq, h),
                         .k = head_of(a, qkv, seq, a->n_heads + g),
                         .v =
                             head_of(a, qkv, seq, a->n_heads + a->n_groups + g),
                         .probs = probs + (int64_t)i * a->seq * a->seq,
                         .seq = seq,
                         .index = h,
                         .first_of_group = h % per_group == 0};
}

/* Only the lower triangle: a token sees itself and those before it. */
void attention_forward(const struct attention *a, struct ops *o, struct mat qkv,
                       real *probs, struct mat out)
{
    real scale = (real)(1 / sqrt((double)a->dim));
    attention_rotate(a, o, qkv, 1);
    for (int i = 0; i < a->n_seq * a->n_heads; i++) {
        struct head h = get_head(a, qkv, probs, i);
        struct mat p = mat_of(h.probs, a->seq, a->seq);
        triangle_outer(o, h.q, h.k, p, scale);
        for (int s = 0; s < a->seq; s++)
            ops_softmax_row(p.p + (int64_t)s * p.ld, s + 1, s + 1);
        o->work += 5.0 * triangle_pairs(a->seq);
        struct mat y = head_of(a, out, h.seq, h.index);
        triangle_times(o, p, h.v, (struct gemm_out){y, 1, 0});
    }
}

/* ds = p * (dp - sum(dp * p)) for each row, in place of dp. */
static void softmax_back(struct ops *o, struct mat p, struct mat dp)
{
    for (int s = 0; s < p.rows; s++) {
        const real *prob = p.p + (int64_t)s * p.ld;
        real *d = dp.p + (int64_t)s * dp.ld;
        real sum = ops_dot(s + 1, prob, d);
        for (int i = 0; i <= s; i++)
            d[i] = prob[i] * (d[i] - sum);
    }
    o->work += 4.0 * triangle_pairs(p.rows);
}

/* Through the softmax by its output, which is kept. The first head of a group
 * writes the gradients of its keys and values, the others add theirs. */
void attention_backward(const struct attention *a, struct ops *o,
                        const struct attention_back *b)
{
    real scale = (real)(1 / sqrt((double)a->dim));
    for (int i = 0; i < a->n_seq * a->n_heads; i++) {
        struct head h = get_head(a, b->qkv, b->probs, i);
        struct head d = get_head(a, b->dqkv, b->probs, i);
        struct mat p = mat_of(h.probs, a->seq, a->seq);
        struct mat ds = mat_of(b->scores, a->seq, a->seq);
        struct mat dy = head_of(a, b->dout, h.seq, h.index);
        real keep = h.first_of_group ? 0 : 1; // group heads share k and v
        triangle_transposed_times(o, p, dy, (struct gemm_out){d.v, 1, keep});
        triangle_outer(o, dy, h.v, ds, 1);
        softmax_back(o, p, ds);
        triangle_times(o, ds, h.k, (struct gemm_out){d.q, scale, 0});
        triangle_transposed_times(o, ds, h.q,
                                  (struct gemm_out){d.k, scale, keep});
    }
    // the transpose of a rotation is the rotation back
    attention_rotate(a, o, b->dqkv, -1);
}
