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

/* name (--offload-modules), identifier; in the order of a forward pass */
#define OFFLOAD_TABLE(X)                                                       \
    X("attn_norm", OFFLOAD_ATTN_NORM)                                          \
    X("qkv_linear", OFFLOAD_QKV_LINEAR)                                        \
    X("core_attn", OFFLOAD_CORE_ATTN)                                          \
    X("attn_proj", OFFLOAD_ATTN_PROJ)                                          \
    X("mlp_norm", OFFLOAD_MLP_NORM)                                            \
    X("expert_fc1", OFFLOAD_EXPERT_FC1)                                        \
    X("moe_act", OFFLOAD_MOE_ACT)

enum offload_module {
#define OFFLOAD_ENUM(name, id) id,
    OFFLOAD_TABLE(OFFLOAD_ENUM)
#undef OFFLOAD_ENUM
        N_OFFLOAD
};

/* What Megatron-FSDP divides over the replicas, by the words of
 * --data-parallel-sharding-strategy. */
enum memory_fsdp {
    FSDP_NONE,        // not in use
    FSDP_NO_SHARD,    // nothing
    FSDP_OPTIM,       // main parameters and optimiser state
    FSDP_OPTIM_GRADS, // gradients, too
    FSDP_ALL          // parameters, too ("optim_grads_params")
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
    bool distributed;       // optimiser state divided over replicas
    bool fp32;              // parameters and activations, all in 4 bytes
    bool precision_unknown; // neither bf16 nor fp16 was asked for
    bool overlap_grad_reduce, overlap_param_gather; // beside computing
    bool world_unknown; // nobody said how many replicas there are
    enum memory_optimizer optimizer;
    // bytes a parameter; param_bytes 0: as struct memory_rules says
    int param_bytes, grad_bytes, state_bytes, muon_state_bytes;
    bool fp8;           // inputs of linear layers are kept in FP8
    int fp8_copy_bytes; // a linear weight's casts kept beside it, 0: none
    bool fp8_params;    // linear weights themselves are in FP8
    enum memory_fsdp fsdp;
    // of its buffers, a parameter: main weights, 0: none; gradients, 0: as the
    // parameter's own type says
    int fsdp_main_bytes, fsdp_grad_bytes;
    // share of the parameters that the optimiser updates on the CPU
    double optimizer_on_cpu;
    bool grad_fusion;   // weight gradients accumulated by the GEMM itself
    bool local_kernels; // --transformer-impl local, no Transformer Engine
    bool grouped_gemm;
    bool unfused_attention; // scores are stored
    bool unfused_act;       // activation function and product apart
    bool attention_dropout, hidden_dropout;
    bool attention_mask;   // the loader makes one
    bool loss_fusion;      // the loss in fused kernels of Megatron
    bool mtp_logits_freed; // before the main pass (core 0.17 and later)
    bool te_loss;          // the loss in Transformer Engine's kernel
    bool deterministic;    // CUBLAS_WORKSPACE_CONFIG=:4096:8 is in force
    bool graphs_attention; // and the attention is one of them
    bool graphs;           // CUDA graphs of parts of every layer
    int loss_deferral;     // micro-batches whose logits' gradients are kept
    unsigned recompute;    // bits 1 << enum recompute_module
    enum recompute_method full_recompute;
    int recompute_layers;
    unsigned offload;            // bits 1 << enum offload_module
    double offload_fraction;     // of a chunk's groups, from the first on
    int64_t offload_delta_bytes; // kept on the GPU for each pipeline rank
    int64_t offload_min_values;  // smaller tensors stay
    int mb_group; // micro-batches a group of the interleaved order, 0: PP
};

#endif
