/*
 * workspace: memory that no unit owns: GEMM workspaces, the buffer of
 * gathered activations, attention masks, dummy gradients of fused gradient
 * accumulation, hidden states that a stage keeps hold of between steps. By
 * platform, because the libraries' workspaces differ.
 */
#ifndef MEMORY_WORKSPACE_H
#define MEMORY_WORKSPACE_H

#include "model/model.h"
#include "weights.h"

#include <stdbool.h>
#include <stdint.h>

/* identifier, name, MiB of one Transformer Engine GEMM workspace, KiB of
 * PyTorch's default cuBLAS (hipBLAS) workspace, whether measured runs on it
 * stand behind the numbers
 *
 * The former is get_cublas_workspace_size_bytes() of Transformer Engine
 * (cpp_extensions/gemm.py: 32 MiB from compute capability 9 on, else 4) and of
 * AMD's (the same file of ROCm/TransformerEngine: 64 MiB on gfx950, else 32);
 * the latter is parseChosenWorkspaceSize() of ATen/cuda/CublasHandlePool.cpp
 * (32 MiB on capability 9.0, 8320 KiB on others; 128 MiB on gfx94x, 32 on
 * other AMD parts). */
#define PLATFORM_TABLE(X)                                                      \
    X(PLATFORM_HOPPER, "h100", 32, 32768, true)                                \
    X(PLATFORM_BLACKWELL, "gb200", 32, 8320, true)                             \
    X(PLATFORM_AMPERE, "a100", 4, 8320, true)                                  \
    X(PLATFORM_B200, "b200", 32, 8320, false)                                  \
    X(PLATFORM_GB300, "gb300", 32, 8320, false)                                \
    X(PLATFORM_MI300X, "mi300x", 32, 131072, false)                            \
    X(PLATFORM_MI355X, "mi355x", 64, 32768, false)

enum platform {
#define PLATFORM_ENUM(id, name, te, cublas, measured) id,
    PLATFORM_TABLE(PLATFORM_ENUM)
#undef PLATFORM_ENUM
        N_PLATFORMS
};

/* From a name such as "dev_dgx_h100", "8x H200" or "gb200"; false when none of
 * the known words is in it (case does not matter). */
bool platform_from_name(const char *name, enum platform *out);
const char *platform_name(enum platform p);

/* All names with commas and "or", for messages; static. */
const char *platform_names(void);

/* False where the sizes are read off the libraries' sources and no measured run
 * has borne them out. */
bool platform_is_measured(enum platform p);

/* What of the stage decides its workspaces. */
struct workspace_place {
    enum platform platform;
    bool has[N_KINDS];    // units of the kind on this rank
    int n_graphed;        // layers x micro-batches in flight
    int n_fed_chunks;     // chunks of the rank that receive hidden states
    int states_a_message; // hidden states in one message, 1 + K behind a
                          // standalone MTP stage
};

struct workspaces {        // bytes
    int64_t gemm;          // Transformer Engine's
    int64_t cublas;        // PyTorch's, one a thread and compute stream
    int64_t global_buffer; // Megatron's, for gathered inputs and scores
    int64_t mask;          // attention mask of the last batch
    int64_t dummy_grads;   // fused gradient accumulation
    int64_t received;      // last hidden states and their gradients
    int64_t graphs;        // static buffers of CUDA graphs
    int64_t muon;          // working memory of Muon (fitted)
    int64_t table_grad;    // a tied table's, once more with EP overlap (found)
    int64_t small;         // everything else (fitted, see memory_constants)
};

void memory_workspaces(const struct model *m, const struct workspace_place *at,
                       struct workspaces *out);
int64_t memory_workspaces_sum(const struct workspaces *w);

/* Of the graphs' buffers, the hidden states, which are activations that have
 * found a place. */
int64_t memory_graph_states(const struct model *m, int n_graphed);

/* Constants that were fitted to measurements, not taken from a source. */
struct memory_constants {
    int64_t small_bytes; // of every rank: masks, tokens, random states, scalars
    int64_t muon_bytes;  // more, where Muon steps
};
extern const struct memory_constants MEMORY_CONSTANTS;

#endif
