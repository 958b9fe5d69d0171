#include "train/attention.h"

#include <criterion/criterion.h>
#include <math.h>

static void fill(real *x, int n, double scale, int salt)
{
    for (int i = 0; i < n; i++)
        x[i] = (real)(scale * sin(1.7 * i + salt));
}

Test(attention, sees_no_later_token)
{
    enum { S = 6, H = 2, G = 1, D = 4, W = (H + 2 * G) * D };
    real qkv[S * W], probs[H * S * S], out[S * H * D], other[S * H * D];
    real cosine[S * D / 2], sine[S * D / 2];
    struct attention a = {1, S, H, G, D, cosine, sine};
    struct ops o = {0};
    attention_fill_rotary(&a, cosine, sine);
    for (int run = 0; run < 2; run++) {
        fill(qkv, S * W, 1, 5);
        for (int i = 4 * W; run && i < S * W; i++)
            qkv[i] += 1; // tokens 4 and 5 change
        attention_forward(&a, &o, mat_of(qkv, S, W), probs,
                          mat_of(run ? other : out, S, H * D));
    }
    cr_expect_arr_eq(out, other, 4 * H * D * sizeof(real));
    cr_expect_neq(out[4 * H * D], other[4 * H * D]);
}

Test(attention, rotary_scores_depend_on_distance_only)
{
    enum { S = 5, D = 8, W = 3 * D };
    real qkv[S * W], probs[S * S], out[S * D];
    real cosine[S * D / 2], sine[S * D / 2];
    struct attention a = {1, S, 1, 1, D, cosine, sine};
    struct ops o = {0};
    attention_fill_rotary(&a, cosine, sine);
    for (int s = 0; s < S; s++) // the same token at all places
        fill(qkv + s * W, W, 1, 8);
    attention_forward(&a, &o, mat_of(qkv, S, W), probs, mat_of(out, S, D));
    for (int s = 1; s + 1 < S; s++) // ratio of neighbours within a row
        cr_expect_float_eq(probs[s * S + s] / probs[s * S + s - 1],
                           probs[(s + 1) * S + s + 1] / probs[(s + 1) * S + s],
                           1e-4);
}

/* What is done is what is counted (model_unit_fwd_flops()): half of the square,
 * here with the diagonal; the rest is rotation and softmax. */
Test(attention, does_half_of_the_square)
{
    enum { S = 160, H = 4, G = 2, D = 64, W = (H + 2 * G) * D };
    static real qkv[S * W], dqkv[S * W], probs[H * S * S], out[S * H * D];
    static real scores[S * S], cosine[S * D / 2], sine[S * D / 2];
    struct attention a = {1, S, H, G, D, cosine, sine};
    struct attention_back b = {.qkv = mat_of(qkv, S, W),
                               .dqkv = mat_of(dqkv, S, W),
                               .dout = mat_of(out, S, H * D),
                               .probs = probs,
                               .scores = scores};
    struct ops o = {0};
    const double pairs = 0.5 * S * (S + 1), rotary = 3.0 * S * (H + G) * D;
    attention_forward(&a, &o, b.qkv, probs, b.dout);
    cr_expect_float_eq(o.work, H * pairs * (2 * 2 * D + 5) + rotary, 1);
    o.work = 0;
    attention_backward(&a, &o, &b);
    cr_expect_float_eq(o.work, H * pairs * (4 * 2 * D + 4) + rotary, 1);
}
