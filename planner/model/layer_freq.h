/*
 * layer_freq: which layers have experts. --moe-layer-freq takes an integer N
 * (every Nth layer, beginning with the first) or a Python expression of lists
 * of 0 and 1 with + and *, such as ([0]*3+[1]*58).
 */
#ifndef MODEL_LAYER_FREQ_H
#define MODEL_LAYER_FREQ_H

#include "base/err.h"

#include <stdint.h>

/* Fills flags[0..n_layers) with 0 or 1. ERR_PARSE for text of another form,
 * ERR_RANGE when the list has not n_layers entries. */
enum err layer_freq_expand(const char *text, int n_layers, uint8_t *flags,
                           struct err_msg *msg);

#endif
