/*
 * data: synthetic token sequences with something to learn: a Markov chain over
 * a few symbols of the vocabulary, with noise. Sample i of a seed is the same
 * tokens wherever and whenever it is made.
 */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <stdint.h>

struct data {
    uint64_t seed;
    int vocab;   // tokens are 0..vocab-1
    int seq;     // tokens of a sequence
    int n_ahead; // further tokens made: 1 (labels) + MTP depth
};

/* Tokens that data_sample() writes: seq + n_ahead. */
int data_sample_tokens(const struct data *d);
void data_sample(const struct data *d, int64_t sample, int *tokens);

/* From n_seq samples as written above: the (n_seq, seq) tokens that begin
 * `shift` later, 0 <= shift <= n_ahead. */
void data_window(const struct data *d, const int *samples, int n_seq, int shift,
                 int *out);

#endif
