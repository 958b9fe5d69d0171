/*
 * memory: bytes that a rank of a pipeline takes: parameters, gradients,
 * optimiser state, workspaces, activations of the micro-batches in flight and
 * the loss. The peak is the largest moment of the rank's own order of work,
 * not a formula. Two trainers: Megatron-LM (bytes that PyTorch's allocator has
 * handed out) and moe-train (bytes of its size tables), told apart by the
 * rules of the costs file.
 *
 * What the allocator reserves beyond what it hands out, the CUDA context and
 * NCCL's buffers are no part of it: they are a stated allowance. Terms are in
 * memory_weights, memory_activations, memory_workspace and memory_train, each
 * with its source. Sized for thousands of layouts a second.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "activations.h"
#include "base/err.h"
#include "layout/layout.h"
#include "model/model.h"
#include "schedule/order.h"
#include "train.h"
#include "weights.h"
#include "workspace.h"

#include <stdbool.h>
#include <stdint.h>

/* What is the same for all layouts of a model: computed once. */
struct memory_terms {
    const struct model *model;
    struct memory_rules rules;
    enum platform platform;
    // predict the last replica rather than the fullest, where they differ
    bool last_replica;
    struct weight_sums sums[N_KINDS]; // of one unit
    struct weight_sums table;         // of one copy of the embedding
    int64_t kept[N_KINDS];            // activations of one unit and micro-batch
    int64_t plain[N_KINDS];           // the same without recompute
    struct memory_recomputed recomputed[N_KINDS]; // of one unit
    int64_t offloads[N_KINDS][N_OFFLOAD];         // of `kept`, moved to the CPU
    int64_t working[N_KINDS]; // while one unit is in its backward pass
    int64_t head, deferred;
    int64_t scores; // before the softmax, while a layer's attention is at work
};

void memory_terms(const struct model *m, const struct memory_rules *rules,
                  enum platform platform, struct memory_terms *out);

/* One rank of a layout. All bytes; peak_bytes = static + workspaces + the
 * largest sum of activations, recomputed layer and head over the step. */
struct memory_rank {
    int64_t params; // held, copies of the embedding included
    int64_t param_bytes, grad_bytes, optimizer_bytes;
    int64_t static_bytes; // these three
    struct workspaces workspaces;
    int64_t workspace_bytes;              // their sum
    int64_t allocated_bytes;              // between steps: static + workspaces
    int64_t activation_bytes, head_bytes; // at the peak
    int64_t peak_bytes;
    int in_flight;          // chunks, at most
    struct order_op moment; // of the peak
};

/* Rank `rank` with M micro-batches a step (model->batch.n_microbatches). For
 * moe-train one chunk a rank. */
void memory_rank(const struct memory_terms *t, const struct layout *l, int rank,
                 struct memory_rank *out);

/* Why memory is not predicted for this model, or NULL. A static text. */
const char *memory_refusal(const struct model *m);

/* ---- what the driver hands out beyond that ---- */

/* Stated, not measured here: the CUDA context with the kernels of the
 * libraries, NCCL's buffers for each group that a rank is in, and what the
 * allocator keeps reserved but unused, as a share of the peak. */
struct memory_allowance {
    int64_t context_bytes, nccl_bytes;
    double reserved_share;
};
extern const struct memory_allowance MEMORY_ALLOWANCE;

/* The allowance in bytes for a rank whose peak is `peak_bytes`; 0 for
 * moe-train. */
int64_t memory_allowance_bytes(const struct memory_terms *t,
                               int64_t peak_bytes);

/* The 95th percentile of the relative under-estimates of peaks in
 * results/reference/memory.csv, which a test recomputes: what `plan` keeps
 * free by default. */
extern const double MEMORY_MARGIN;

/* Does a predicted peak fit into `limit_bytes`? Not when it does not with the
 * margin; tight when only the allowance is missing. moe-train's memory is known
 * to the byte and is a process's on a CPU: neither counts there, and a limit of
 * 0 is none. `margin` is relative, MEMORY_MARGIN by default. */
enum memory_verdict { MEMORY_FITS, MEMORY_TIGHT, MEMORY_TOO_MUCH };
enum memory_verdict memory_judge(const struct memory_terms *t,
                                 int64_t peak_bytes, double limit_bytes,
                                 double margin);

/* ---- a stage by itself ---- */

struct memory_stage {
    int64_t params;           // parameters held, copies of embeddings included
    int64_t static_bytes;     // parameters, gradients, optimiser state
    int64_t activation_bytes; // of one micro-batch
    int64_t head_bytes;       // logits and what the loss makes of them
    int64_t workspace_bytes;
    int in_flight;
    int64_t peak_bytes; // static + workspaces + in_flight x act. + head
};

/* Parameters that a stage holds, over all ranks that share it: its units, and
 * the copy of the embedding that a tied output layer (PP > 1) or an MTP layer
 * away from the first stage needs. */
int64_t memory_stage_params(const struct model *m, const struct layout *l,
                            int stage);

/* The same of all stages of pipeline rank `rank`, which share one copy of the
 * embedding. */
int64_t memory_rank_params(const struct model *m, const struct layout *l,
                           int rank);

/* The stage with `in_flight` micro-batches, one chunk a rank. */
void memory_stage_of(const struct memory_terms *t, const struct layout *l,
                     int stage, int in_flight, struct memory_stage *out);

#endif
