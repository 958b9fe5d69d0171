#include "train/data.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct data data = {.seed = 5, .vocab = 300, .seq = 400};

enum { N_TOKENS = 401 };

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

/* Rolled as Megatron rolls them: nothing of the token behind the sequence
 * comes in, and the last places have no label. */
Test(data, mtp_inputs_and_labels_end_with_their_sequence)
{
    int samples[2 * N_TOKENS], in[2 * 400], labels[2 * 400];
    data_sample(&data, 0, samples);
    data_sample(&data, 1, samples + N_TOKENS);
    for (int depth = 0; depth <= 3; depth++) {
        data_inputs(&data, samples, 2, depth, in);
        data_labels(&data, samples, 2, depth, labels);
        for (int i = 0; i < 2 * 400; i++) {
            const int *sample = samples + i / 400 * N_TOKENS;
            int at = i % 400 + depth;
            cr_assert_eq(in[i], at < 400 ? sample[at] : 0);
            cr_assert_eq(labels[i], at < 400 ? sample[at + 1] : DATA_MASKED);
        }
    }
}

Test(data, each_token_is_one_symbol)
{
    int t[N_TOKENS];
    const int vocab[] = {2, 63, 64, 65, 100, 300, 12345};
    for (int v = 0; v < 7; v++) {
        struct data d = data;
        int token_of[64], n_seen = 0;
        d.vocab = vocab[v];
        memset(token_of, -1, sizeof token_of);
        for (int64_t s = 0; s < 50; s++) {
            data_sample(&d, s, t);
            for (int i = 0; i < N_TOKENS; i++) {
                int symbol = data_symbol(&d, t[i]);
                cr_assert(symbol >= 0 && symbol < data_n_symbols(&d));
                n_seen += token_of[symbol] < 0;
                cr_assert(token_of[symbol] < 0 || token_of[symbol] == t[i]);
                token_of[symbol] = t[i];
                cr_assert_eq(data_token(&d, symbol), t[i]);
            }
        }
        cr_expect_eq(n_seen, data_n_symbols(&d), "vocabulary of %d", d.vocab);
        cr_expect_eq(data_symbol(&d, 0), 0);
    }
}
