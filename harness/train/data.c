/*
 * How it works: symbol s is followed by a fixed symbol f(s), but for noise. f
 * is a hash of the seed, so that every rank makes the same samples without a
 * word to the others. The entropy of the noise is what a model can learn down
 * to.
 */
#include "data.h"

#include "base/random.h"

#include <string.h>

/* Few enough to be learnt in some hundred steps; one token in eight is noise.
 */
enum { DATA_MAX_SYMBOLS = 64, DATA_NOISE_OF_16 = 2 };

int data_sample_tokens(const struct data *d)
{
    return d->seq + 1;
}

int data_n_symbols(const struct data *d)
{
    return d->vocab < DATA_MAX_SYMBOLS ? d->vocab : DATA_MAX_SYMBOLS;
}

/* Symbols spread over the vocabulary, so that its rows are hit at large. */
int data_token(const struct data *d, int symbol)
{
    return (int)((int64_t)symbol * d->vocab / data_n_symbols(d));
}

/* data_token() turned round: its quotient was rounded down, this one goes up.
 */
int data_symbol(const struct data *d, int token)
{
    return (int)(((int64_t)token * data_n_symbols(d) + d->vocab - 1) /
                 d->vocab);
}

/* A chain in which each symbol has one follower, and a share of noise: there is
 * something to learn, and a sample depends on its number alone, whatever rank
 * reads it. */
void data_sample(const struct data *d, int64_t sample, int *tokens)
{
    int n_symbols = data_n_symbols(d);
    uint64_t chain = random_mix(d->seed ^ 0x636861696eu);
    uint64_t state = random_mix(chain + (uint64_t)sample * 2 + 1);
    int symbol = (int)(state % (uint64_t)n_symbols);
    for (int i = 0; i < data_sample_tokens(d); i++) {
        tokens[i] = data_token(d, symbol);
        state = random_mix(state);
        uint64_t next = state >> 8;
        if (state % 16 >= DATA_NOISE_OF_16)
            next = random_mix(chain ^ (uint64_t)symbol);
        symbol = (int)(next % (uint64_t)n_symbols);
    }
}

int data_n_labels(int seq, int depth)
{
    return seq - depth;
}

/* What roll_tensor() of multi_token_prediction.py leaves of each sample, from
 * token `first` on: `kept` tokens, then `rest` where others would wrap round.
 */
struct data_roll {
    int first, kept, rest;
};

static void data_window(const struct data *d, const int *samples, int n_seq,
                        struct data_roll r, int *out)
{
    for (int b = 0; b < n_seq; b++, out += d->seq) {
        const int *from = samples + b * data_sample_tokens(d) + r.first;
        memcpy(out, from, (size_t)r.kept * sizeof *out);
        for (int i = r.kept; i < d->seq; i++)
            out[i] = r.rest;
    }
}

void data_inputs(const struct data *d, const int *samples, int n_seq, int depth,
                 int *out)
{
    data_window(d, samples, n_seq,
                (struct data_roll){depth, data_n_labels(d->seq, depth), 0},
                out);
}

void data_labels(const struct data *d, const int *samples, int n_seq, int depth,
                 int *out)
{
    data_window(d, samples, n_seq,
                (struct data_roll){depth + 1, data_n_labels(d->seq, depth),
                                   DATA_MASKED},
                out);
}
