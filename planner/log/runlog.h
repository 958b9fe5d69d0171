/*
 * runlog: the one table of the lines of a training log. moe-train writes its
 * log through this module and logparse reads with the same names, so the two
 * cannot drift apart. Shapes are Megatron-LM's own (core 0.14/0.15, printed,
 * one-second dates); lines that Megatron does not have begin with "moe-train".
 */
#ifndef LOG_RUNLOG_H
#define LOG_RUNLOG_H

#include <stdint.h>
#include <stdio.h>

/* Timer names that the planner uses; as Megatron spells them. */
#define RUNLOG_FORWARD "forward-compute"
#define RUNLOG_BACKWARD "backward-compute"
#define RUNLOG_FORWARD_BACKWARD "forward-backward"
#define RUNLOG_OPTIMIZER "optimizer"
#define RUNLOG_EMBEDDING_SYNC "embedding-grads-all-reduce"
#define RUNLOG_GRADS_SYNC "all-grads-sync"

#define RUNLOG_ALL_HEADER "times across ranks (ms):"
#define RUNLOG_MINMAX_HEADER "(min, max) time across ranks (ms):"
#define RUNLOG_MAX_HEADER "max time across ranks (ms):"

/* Names of fields in an iteration line. */
#define RUNLOG_F_STEP "elapsed time per iteration (ms)"
#define RUNLOG_F_LOSS "lm loss"
#define RUNLOG_F_SKIPPED "number of skipped iterations"
#define RUNLOG_F_NAN "number of nan iterations"
#define RUNLOG_F_REFERENCE "reference burst (ms)" // moe-train only

#define RUNLOG_BANNER "moe-train" // first word of lines of our own

enum { RUNLOG_MAX_MTP = 8 };

/* What an iteration line tells. */
struct runlog_iteration {
    int64_t iteration, n_iterations; // number from 1, and the last one
    int64_t consumed_samples;        // with this one
    double step_ms;                  // from barrier to barrier
    double learning_rate;
    int64_t global_batch;
    double lm_loss; // NaN: the field is left out, as Megatron does
    int n_mtp;
    double mtp_loss[RUNLOG_MAX_MTP];
    double balance_loss; // of routing; 0: none, field left out
    double grad_norm;
    double reference_ms;      // negative: not measured, field left out
    int64_t n_skipped, n_nan; // 1 when this one was
};

/* Each prints one line (the block header and its rows one line each). */
void runlog_print_iteration(FILE *out, const struct runlog_iteration *it);
void runlog_print_times_header(FILE *out);
void runlog_print_timer(FILE *out, const char *name);
void runlog_print_timer_rank(FILE *out, int rank, double ms);
void runlog_print_memory(FILE *out, int rank, int64_t after_iterations,
                         int64_t allocated_bytes, int64_t max_allocated_bytes);

/* The arguments dump: header, one "  name ..... value" a flag (names in
 * snake_case), footer. */
void runlog_print_arguments_begin(FILE *out);
void runlog_print_argument(FILE *out, const char *name, const char *value);
void runlog_print_arguments_end(FILE *out);

/* "moe-train: clock <clock> | ranks <n> | blas <kernel>", and
 * "moe-train: p2p latency (us): <x> | bandwidth (MB/s): <y>": one message
 * takes latency + bytes/bandwidth. MB are 1e6 bytes. */
void runlog_print_banner(FILE *out, const char *clock, int n_ranks,
                         const char *blas_kernel);
void runlog_print_p2p(FILE *out, double latency_s, double bytes_per_s);

/* "moe-train: rank <r> bytes | weights: <n> | gradients: <n> | optimizer: <n>
 * | activations: <n>": what the memory line adds up. */
enum { RUNLOG_N_MEMORY_KINDS = 4 };
void runlog_print_memory_kinds(FILE *out, int rank,
                               const int64_t bytes[RUNLOG_N_MEMORY_KINDS]);

#endif
