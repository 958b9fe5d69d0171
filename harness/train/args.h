/*
 * train_args: moe-train's command line. Megatron's own flags, a subset of
 * them, and three of ours, in one table. Model, parallelism and batch are rows
 * of megatron/flags.h and live in its slots; the others have slots here, and
 * are read once, into their type.
 */
#ifndef TRAIN_ARGS_H
#define TRAIN_ARGS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/options.h"
#include "megatron/args.h"
#include "megatron/flags.h"
#include "model/model.h"
#include "split.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In the order of --help.
 * MODEL: a flag of megatron/flags.h, help.
 * OWN: identifier, flag without dashes, type, default (NULL: none), bounds,
 * help. Types: INT, REAL: within the bounds; TEXT; ONLY: the default is the one
 * value that moe-train does; SWITCH: no value. */
#define TRAIN_FLAG_TABLE(MODEL, OWN)                                           \
    MODEL(FLAG_NUM_LAYERS, "decoder layers")                                   \
    MODEL(FLAG_HIDDEN_SIZE, "width of hidden states")                          \
    MODEL(FLAG_FFN_HIDDEN_SIZE, "width of a dense layer's MLP")                \
    MODEL(FLAG_NUM_ATTENTION_HEADS, "query heads")                             \
    MODEL(FLAG_GROUP_QUERY_ATTENTION, "share key/value heads")                 \
    MODEL(FLAG_NUM_QUERY_GROUPS, "key/value heads")                            \
    MODEL(FLAG_KV_CHANNELS, "width of a head")                                 \
    MODEL(FLAG_MAX_POSITION_EMBEDDINGS, "taken, no effect")                    \
    MODEL(FLAG_POSITION_EMBEDDING_TYPE, "rope (required)")                     \
    MODEL(FLAG_NORMALIZATION, "RMSNorm (required)")                            \
    MODEL(FLAG_SWIGLU, "gated MLP (required)")                                 \
    MODEL(FLAG_DISABLE_BIAS_LINEAR, "no biases (required)")                    \
    MODEL(FLAG_UNTIE, "an output layer of its own")                            \
    MODEL(FLAG_VOCAB_SIZE, "tokens in the vocabulary")                         \
    MODEL(FLAG_PADDED_VOCAB_SIZE, "rows of the embedding")                     \
    MODEL(FLAG_MAKE_VOCAB_DIVISIBLE, "padding of the vocabulary (128)")        \
    MODEL(FLAG_NUM_EXPERTS, "experts a layer, absent: dense")                  \
    MODEL(FLAG_MOE_FFN_HIDDEN_SIZE, "width of an expert")                      \
    MODEL(FLAG_MOE_ROUTER_TOPK, "experts a token (2)")                         \
    MODEL(FLAG_MOE_SHARED_EXPERT, "width of the shared expert")                \
    MODEL(FLAG_MOE_LAYER_FREQ, "which layers have experts")                    \
    MODEL(FLAG_MTP_NUM_LAYERS, "MTP layers")                                   \
    MODEL(FLAG_HYBRID_LAYER_PATTERN,                                           \
          "layers as symbols, * attention - MLP E experts, | between stages, " \
          "/ MTP; in place of the layout and numbers of layers")               \
    OWN(TRAIN_BALANCING, "moe-router-load-balancing-type", TEXT, "aux_loss",   \
        0, 0, "aux_loss or none")                                              \
    OWN(TRAIN_AUX_LOSS_COEFF, "moe-aux-loss-coeff", REAL, "1e-2", 0, 1e6,      \
        "weight of each layer's auxiliary loss, 0: none")                      \
    OWN(TRAIN_MTP_LOSS_SCALING_FACTOR, "mtp-loss-scaling-factor", REAL, "0.1", \
        0, 1e6, "weight of the mean MTP loss")                                 \
    MODEL(FLAG_TP, "1")                                                        \
    MODEL(FLAG_PP, "stages (1)")                                               \
    MODEL(FLAG_CP, "1")                                                        \
    MODEL(FLAG_EP, "1")                                                        \
    MODEL(FLAG_ETP, "1")                                                       \
    MODEL(FLAG_VPP, "chunks a rank, interleaved (1)")                          \
    MODEL(FLAG_LAYERS_PER_VPP, "the same, by the layers of a chunk")           \
    MODEL(FLAG_LAYOUT, "units of each stage, such as 'Et*5|t*6|t*5|mL'")       \
    MODEL(FLAG_MB_GROUP,                                                       \
          "micro-batches that pass a chunk in turn (ranks of the pipeline)")   \
    MODEL(FLAG_NO_OVERLAP_P2P, "interleaved: wait for every transfer")         \
    MODEL(FLAG_OVERLAP_P2P_FLUSH,                                              \
          "interleaved: overlap those of warm-up and cool-down too")           \
    MODEL(FLAG_OVERLAP_MOE_COMM,                                               \
          "forward and backward in one operation; the order only, nothing is " \
          "saved")                                                             \
    MODEL(FLAG_MICRO_BATCH_SIZE, "sequences (1)")                              \
    MODEL(FLAG_GLOBAL_BATCH_SIZE, "sequences of a step")                       \
    MODEL(FLAG_SEQ_LENGTH, "tokens of a sequence")                             \
    OWN(TRAIN_TRAIN_ITERS, "train-iters", INT, "10", 1, 1e9, "steps")          \
    OWN(TRAIN_LR, "lr", REAL, "1e-3", 0, 1e38, "learning rate")                \
    OWN(TRAIN_MIN_LR, "min-lr", REAL, "0", 0, 1e30,                            \
        "taken, no effect on a constant rate")                                 \
    OWN(TRAIN_LR_DECAY_STYLE, "lr-decay-style", ONLY, "constant", 0, 0, "")    \
    OWN(TRAIN_WEIGHT_DECAY, "weight-decay", REAL, "0.01", 0, 1e6,              \
        "decoupled, norms excepted")                                           \
    OWN(TRAIN_ADAM_BETA1, "adam-beta1", REAL, "0.9", 0, 0.9999999, "")         \
    OWN(TRAIN_ADAM_BETA2, "adam-beta2", REAL, "0.999", 0, 0.9999999, "")       \
    OWN(TRAIN_ADAM_EPS, "adam-eps", REAL, "1e-8", 1e-30, 1, "")                \
    OWN(TRAIN_CLIP_GRAD, "clip-grad", REAL, "1.0", 0, 1e30,                    \
        "largest global norm, 0: none")                                        \
    OWN(TRAIN_SEED, "seed", INT, "1234", 0, 9e15, "of weights and data")       \
    OWN(TRAIN_MOCK_DATA, "mock-data", SWITCH, NULL, 0, 0,                      \
        "data is always synthetic")                                            \
    OWN(TRAIN_LOG_INTERVAL, "log-interval", INT, "1", 1, 1,                    \
        "steps between lines of the log")                                      \
    OWN(TRAIN_TIMING_LOG_LEVEL, "timing-log-level", INT, "0", 0, 2,            \
        "1, 2: with timers of each rank")                                      \
    OWN(TRAIN_TIMING_LOG_OPTION, "timing-log-option", ONLY, "all", 0, 0, "")   \
    OWN(TRAIN_CLOCK, "clock", TEXT, NULL, 0, 0,                                \
        "wall under MPI; cpu (default) or flops under smpirun")                \
    OWN(TRAIN_REFERENCE_BURST, "reference-burst", INT, "0", 0, 1000,           \
        "fixed products timed beside each step, on each rank")                 \
    OWN(TRAIN_RECORD_OPS, "record-ops", TEXT, NULL, 0, 0,                      \
        "CSV file for times of all operations")                                \
    OWN(TRAIN_RECORD_NORMS, "record-norms", TEXT, NULL, 0, 0,                  \
        "CSV file for the norm of each tensor's gradient")                     \
    OWN(TRAIN_HELP, "help", SWITCH, NULL, 0, 0, "this text")

enum train_flag {
#define TRAIN_NO_ENUM(flag, help)
#define TRAIN_ENUM(id, name, type, standard, lo, hi, help) id,
    TRAIN_FLAG_TABLE(TRAIN_NO_ENUM, TRAIN_ENUM)
#undef TRAIN_NO_ENUM
#undef TRAIN_ENUM
        N_TRAIN_FLAGS
};

/* One of our own flags: as it was written, or the default; NULL where it was
 * not given and has none. */
struct train_value {
    const char *text;
    int64_t whole; // of INT
    double real;   // of REAL
};

struct train_args {
    struct megatron_args *megatron;
    struct train_value own[N_TRAIN_FLAGS];
    struct model model;
    struct split split;
    const char *clock; // in use, for the dump; set by the caller
    bool help;
};

/* Reads a line from line.at on for a job of `world` ranks. ERR_PARSE and
 * ERR_RANGE tell the flag, what was found and what is wanted. With --help only
 * `help` is set. Owned by the arena. */
enum err train_args_read(struct arena *a, struct option_line line, int world,
                         struct train_args *out, struct err_msg *msg);

/* The flag's value or its default; the text is NULL where it has none. The
 * flag must be of the type. */
const char *train_args_text(const struct train_args *t, enum train_flag flag);
int64_t train_args_int(const struct train_args *t, enum train_flag flag);
double train_args_real(const struct train_args *t, enum train_flag flag);

/* Weight of the auxiliary losses of routing; 0: none, or no experts. */
double train_args_balance(const struct train_args *t);

void train_args_print_usage(FILE *out);
void train_args_print_help(FILE *out);

/* The arguments dump of the log. */
enum err train_args_dump(struct arena *a, const struct train_args *t,
                         FILE *out);

#endif
