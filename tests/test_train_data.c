#include "train/data.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct data data = {
    .seed = 5, .vocab = 300, .seq = 400, .n_ahead = 3};

enum { N_TOKENS = 403 };

Test(data, same_sample_gives_same_tokens)
{
    int a[N_TOKENS], b[N_TOKENS], c[N_TOKENS];
    struct data other = data;
    other.seed = 6;
    cr_assert_eq(data_sample_tokens(&data), N_TOKENS);
    data_sample(&data, 17, a);
    data_sample(&data, 17, b);
    cr_expect_arr_eq(a, b, sizeof a);
    data_sample(&data, 18, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    data_sample(&other, 17, c);
    cr_expect_neq(memcmp(a, c, sizeof a), 0);
}

Test(data, tokens_lie_in_the_vocabulary)
{
    int t[N_TOKENS];
    const int vocab[] = {2, 63, 64, 65, 300};
    for (int v = 0; v < 5; v++)
        for (int64_t s = 0; s < 50; s++) {
            struct data d = data;
            d.vocab = vocab[v];
            data_sample(&d, s, t);
            for (int i = 0; i < N_TOKENS; i++)
                cr_assert(t[i] >= 0 && t[i] < d.vocab);
        }
}

/* The most frequent successor of each token comes about 7 times in 8. */
Test(data, next_token_can_be_learnt)
{
    static int count[300][300];
    int t[N_TOKENS], n = 0, n_best = 0;
    for (int64_t s = 0; s < 40; s++) {
        data_sample(&data, s, t);
        for (int i = 0; i + 1 < N_TOKENS; i++)
            count[t[i]][t[i + 1]]++;
    }
    for (int a = 0; a < 300; a++) {
        int best = 0;
        for (int b = 0; b < 300; b++) {
            n += count[a][b];
            best = count[a][b] > best ? count[a][b] : best;
        }
        n_best += best;
    }
    cr_expect_gt(n_best, 0.84 * n);
    cr_expect_lt(n_best, 0.92 * n);
}

Test(data, window_shifts_each_sequence)
{
    int samples[2 * N_TOKENS], out[2 * 400];
    data_sample(&data, 0, samples);
    data_sample(&data, 1, samples + N_TOKENS);
    for (int shift = 0; shift <= data.n_ahead; shift++) {
        data_window(&data, samples, 2, shift, out);
        cr_expect_arr_eq(out, samples + shift, 400 * sizeof(int));
        cr_expect_arr_eq(out + 400, samples + N_TOKENS + shift,
                         400 * sizeof(int));
    }
}
