/*
 * memory_options: what decides memory beyond the sizes of the model: precision,
 * optimiser, kernels, recompute, as Megatron's flags say it. Plain data, part
 * of struct model; megatron_memory reads it from flags. All zero means
 * Megatron's mixed precision with Adam on every rank, fused attention, no
 * dropout, no recompute.
 */
#ifndef MODEL_MEMORY_OPTIONS_H
#define MODEL_MEMORY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* name (--recompute-modules), identifier */
#define RECOMPUTE_TABLE(X)                                                     \
    X("core_attn", RECOMPUTE_CORE_ATTN)                                        \
    X("moe_act", RECOMPUTE_MOE_ACT)                                            \
    X("layernorm", RECOMPUTE_LAYERNORM)                                        \
    X("mla_up_proj", RECOMPUTE_MLA_UP_PROJ)                                    \
    X("mlp", RECOMPUTE_MLP)                                                    \
    X("moe", RECOMPUTE_MOE)                                                    \
    X("shared_experts", RECOMPUTE_SHARED_EXPERTS)

enum recompute_module {
#define RECOMPUTE_ENUM(name, id) id,
    RECOMPUTE_TABLE(RECOMPUTE_ENUM)
#undef RECOMPUTE_ENUM
        N_RECOMPUTE
};

enum recompute_method { RECOMPUTE_NONE, RECOMPUTE_UNIFORM, RECOMPUTE_BLOCK };

enum memory_optimizer {
    OPTIMIZER_ADAM,
    OPTIMIZER_MUON,         // matrices by Muon, the rest by Adam
    OPTIMIZER_MUON_SHARDED, // the same, dealt out whole over replicas
    OPTIMIZER_MUON_LAYOUT,  // the same, in a layout of even shards
};

struct memory_options {
    const char *refusal; // why memory is not predicted; static, NULL: it is
    bool sequence_parallel;
    bool distributed; // optimiser state divided over replicas
    bool overlap_grad_reduce, overlap_param_gather; // beside computing
    bool world_unknown; // nobody said how many replicas there are
    enum memory_optimizer optimizer;
    // bytes a parameter; param_bytes 0: as struct memory_rules says
    int param_bytes, grad_bytes, state_bytes, muon_state_bytes;
    bool fp8;           // inputs of linear layers are kept in FP8
    int fp8_copy_bytes; // a linear weight's casts kept beside it, 0: none
    bool grad_fusion;   // weight gradients accumulated by the GEMM itself
    bool local_kernels; // --transformer-impl local, no Transformer Engine
    bool grouped_gemm;
    bool unfused_attention; // scores are stored
    bool unfused_act;       // activation function and product apart
    bool attention_dropout, hidden_dropout;
    bool attention_mask; // the loader makes one
    bool loss_fusion;
    bool deterministic; // CUBLAS_WORKSPACE_CONFIG=:4096:8 is in force
    bool graphs;        // CUDA graphs of parts of every layer
    int loss_deferral;  // micro-batches whose logits' gradients are kept
    unsigned recompute; // bits 1 << enum recompute_module
    enum recompute_method full_recompute;
    int recompute_layers;
    int mb_group; // micro-batches a group of the interleaved order, 0: PP
};

#endif
