/*
 * data: synthetic token sequences with something to learn: a Markov chain over
 * a few symbols of the vocabulary, with noise. Sample i of a seed is the same
 * tokens wherever and whenever it is made. Inputs and labels of MTP layers are
 * rolled within the sequence, as Megatron does.
 */
#ifndef TRAIN_DATA_H
#define TRAIN_DATA_H

#include <stdint.h>

struct data {
    uint64_t seed;
    int vocab; // tokens are 0..vocab-1
    int seq;   // tokens of a sequence
};

/* Tokens that data_sample() writes: the sequence and the last label. */
int data_sample_tokens(const struct data *d);
void data_sample(const struct data *d, int64_t sample, int *tokens);

/* From n_seq samples as written above, for the decoder (depth 0) or the MTP
 * layer of depth 1 and more: the (n_seq, seq) input tokens, `depth` later in
 * the sequence, token 0 where it has ended; and the labels, one token later
 * than the inputs, DATA_MASKED in the last `depth` places, for which the
 * sequence has none. */
enum { DATA_MASKED = -1 };
void data_inputs(const struct data *d, const int *samples, int n_seq, int depth,
                 int *out);
void data_labels(const struct data *d, const int *samples, int n_seq, int depth,
                 int *out);

/* Labels of a sequence at that depth: seq - depth. */
int data_n_labels(int seq, int depth);

/* Only some tokens occur, the symbols: how many, and which of them, from 0 on,
 * a token of a sample is. Inputs have no others. */
int data_n_symbols(const struct data *d);
int data_symbol(const struct data *d, int token);
int data_token(const struct data *d, int symbol);

#endif
