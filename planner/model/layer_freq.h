/*
 * layer_freq: which layers are of one sort, as Megatron's flags say it: an
 * integer or a Python expression of lists of 0 and 1 with + and *, such as
 * ([0]*3+[1]*58). --moe-layer-freq tells which have experts,
 * --window-attn-skip-freq which attend to a window, --linear-attention-freq
 * which have gated delta net.
 */
#ifndef MODEL_LAYER_FREQ_H
#define MODEL_LAYER_FREQ_H

#include "base/err.h"

#include <stdint.h>

/* Fills flags[0..n_layers) with 1 where a layer has experts: every Nth,
 * beginning with the first, or as listed. ERR_PARSE for text of another form,
 * ERR_RANGE when the list has not n_layers entries or N is below 1. */
enum err layer_freq_expand(const char *text, int n_layers, uint8_t *flags,
                           struct err_msg *msg);

/* The same with 1 where a layer attends to a window: all but every Nth
 * (is_layer_window_attention() in core/transformer/utils.py counts layers from
 * 1), or as listed. NULL for text: every layer does. */
enum err layer_freq_windows(const char *text, int n_layers, uint8_t *flags,
                            struct err_msg *msg);

/* The same for a list only, or for a number N that leaves every Nth layer out
 * (counted from 1); `flag` begins messages. */
enum err layer_freq_but_every(const char *flag, const char *text, int n_layers,
                              uint8_t *flags, struct err_msg *msg);

#endif
