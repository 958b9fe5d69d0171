/*
 * vocabulary: the words that training logs are made of, and nothing else: names
 * of fields, timers, units, ranks, failures, values of Megatron's flags. What a
 * contributed log may hold is made of these words and of numbers, so that a
 * name or a secret of a kind that nobody thought of does not pass either.
 *
 * Some hundred words, a hundred nanoseconds a look-up; case does not matter.
 */
#ifndef CONTRIBUTE_VOCABULARY_H
#define CONTRIBUTE_VOCABULARY_H

#include "log/line.h"

#include <stdbool.h>

/* Is the word (letters alone) one of a training log? */
bool vocabulary_has(struct log_text word);

/* Digits that a number of the word may have, as in "rank0", "fp16", "mtp_1"; 0
 * for a word that has none. */
size_t vocabulary_numbered(struct log_text word);

/* A unit that may follow a number directly, as in "3.2GB", "20s". */
bool vocabulary_is_unit(struct log_text word);

/* A text with a slash or a dot that is no path and no host: "TFLOP/s/GPU",
 * "torch.OutOfMemoryError". */
bool vocabulary_has_joined(struct log_text text);

#endif
