/*
 * How it works: one table, looked up by walking it. Names and meanings are
 * those of the argument parsers of the projects named at each part; what a flag
 * of Megatron's own does is in megatron/training/arguments.py and
 * TransformerConfig (main of August 2026 and core 0.16).
 */
#include "foreign.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define SAME(name, values, flag)                                               \
    {                                                                          \
        name, FOREIGN_SAME, KNOWN_##values, flag, NULL, ""                     \
    }
#define CHANGE(name, values, harmless, flag, text)                             \
    {                                                                          \
        name, FOREIGN_CHANGE, KNOWN_##values, flag, harmless, text             \
    }
#define WARN(name, values, text)                                               \
    {                                                                          \
        name, FOREIGN_WARN, KNOWN_##values, FLAG_NONE, NULL, text              \
    }

#define LORA "adapters (LoRA) train beside frozen weights"
#define OTHER_MODEL "it makes another model than GPT"
#define ORDER "another order of work than Megatron's schedules"
#define RECOMPUTE                                                              \
    "an older way to recompute: give --recompute-granularity full "            \
    "--recompute-method uniform --recompute-num-layers N"
#define SHARED                                                                 \
    "shared experts: give --moe-shared-expert-intermediate-size, their "       \
    "number times --moe-ffn-hidden-size"
#define GATED                                                                  \
    "a gated MLP: give --swiglu, which has the same matrices, and "            \
    "--ffn-hidden-size"
#define SHARDS "it shards weights over ranks of its own"
#define WINDOWED "windows of attention: give --window-size N,0"
#define INDEXER "sparse attention has an indexer with weights of its own"
#define TEACHER "a second model, its teacher, takes memory and time"
#define FROZEN "frozen weights have no gradients and no optimizer state"
#define FILLED                                                                 \
    "micro-batches are filled up to a number of tokens: give "                 \
    "--micro-batch-size and --seq-length, as their mean is"
#define LAYOUT "stages of its own: give --pipeline-model-parallel-layout"

static const struct foreign_flag foreign[] = {
    // other names, same values
    SAME("num-key-value-heads", ONE, FLAG_NUM_QUERY_GROUPS),
    SAME("num-kv-heads", ONE, FLAG_NUM_QUERY_GROUPS),
    SAME("num-attention-heads-kv", ONE, FLAG_NUM_QUERY_GROUPS),
    SAME("n-head-kv", ONE, FLAG_NUM_QUERY_GROUPS),
    SAME("num-hidden-layers", ONE, FLAG_NUM_LAYERS),
    SAME("intermediate-size", ONE, FLAG_FFN_HIDDEN_SIZE),
    SAME("moe-intermediate-size", ONE, FLAG_MOE_FFN_HIDDEN_SIZE),
    SAME("n-routed-experts", ONE, FLAG_NUM_EXPERTS),
    SAME("num-local-experts", ONE, FLAG_NUM_EXPERTS),
    SAME("num-experts-per-tok", ONE, FLAG_MOE_ROUTER_TOPK),
    SAME("moe-topk", ONE, FLAG_MOE_ROUTER_TOPK),
    SAME("topk", ONE, FLAG_MOE_ROUTER_TOPK),
    SAME("shared-expert-gate", SWITCH, FLAG_MOE_SHARED_GATE),
    SAME("num-nextn-predict-layers", ONE, FLAG_MTP_NUM_LAYERS),
    SAME("multi-head-latent-attention", SWITCH, FLAG_MLA),
    SAME("qk-nope-head-dim", ONE, FLAG_QK_HEAD_DIM),
    SAME("qk-rope-head-dim", ONE, FLAG_QK_POS_EMB_HEAD_DIM),
    SAME("use-llama2-rotary-position-embeddings", SWITCH, FLAG_USE_ROTARY),
    SAME("use-mistral-rotary-position-embeddings", SWITCH, FLAG_USE_ROTARY),
    SAME("pad-vocab-size-to", ONE, FLAG_PADDED_VOCAB_SIZE),
    SAME("tensor-parallel-size", ONE, FLAG_TP),
    SAME("pipeline-parallel-size", ONE, FLAG_PP),
    SAME("expert-parallel-size", ONE, FLAG_EP),
    SAME("moe-expert-parallel-size", ONE, FLAG_EP),
    SAME("virtual-pipeline-model-parallel-size", ONE, FLAG_VPP),
    SAME("train-micro-batch-size-per-gpu", ONE, FLAG_MICRO_BATCH_SIZE),
    SAME("fp8-param", SWITCH, FLAG_FP8_PARAM_GATHER),
    SAME("qkv-bias", SWITCH, FLAG_ADD_QKV_BIAS),
    SAME("fp8-params", SWITCH, FLAG_FP8_PARAM_GATHER),
    SAME("linear-attention-type", ONE, FLAG_EXPERIMENTAL_ATTENTION_VARIANT),
    SAME("distribute-checkpointed-activations", SWITCH, FLAG_DISTRIBUTE_SAVED),

    // layers and experts (MindSpeed-LLM, Pai-Megatron-Patch,
    // Megatron-DeepSpeed)
    CHANGE("noop-layers", ONE, NULL, FLAG_NUM_LAYERS,
           "layers of these numbers are empty: give --num-layers without them"),
    CHANGE("first-k-dense-replace", ONE, "0", FLAG_MOE_LAYER_FREQ,
           "the first layers have no experts: give --moe-layer-freq, such as "
           "([0]*3+[1]*58)"),
    CHANGE("expert-interval", ONE, "1", FLAG_MOE_LAYER_FREQ,
           "some layers have no experts: give --moe-layer-freq as a list"),
    CHANGE("n-shared-experts", ONE, "0", FLAG_MOE_SHARED_EXPERT, SHARED),
    CHANGE("num-shared-experts", ONE, "0", FLAG_MOE_SHARED_EXPERT, SHARED),
    CHANGE("enable-shared-expert", SWITCH, NULL, FLAG_MOE_SHARED_EXPERT,
           SHARED),
    CHANGE("shared-moe-ffn-hidden-size", ONE, "0", FLAG_MOE_SHARED_EXPERT,
           SHARED ", and --moe-shared-expert-gate where they are gated"),
    CHANGE("shared-expert-gate-output-dimension", ONE, "1", FLAG_NONE,
           "the shared experts' gate is wider than Megatron's"),
    CHANGE("num-zero-experts", ONE, "0", FLAG_NONE,
           "experts that compute nothing take a share of the tokens"),
    CHANGE("n-hash-layers", ONE, "0", FLAG_NONE,
           "routers of these layers are tables"),
    CHANGE("mlp-type", ONE, "standard", FLAG_NONE,
           "residual experts have a dense MLP beside them"),
    CHANGE("moe-tp-extend-ep", SWITCH, NULL, FLAG_ETP,
           "experts go over TP x EP ranks: give --expert-tensor-parallel-size "
           "1 and --expert-model-parallel-size times TP"),
    CHANGE("moe-extended-tp", SWITCH, NULL, FLAG_ETP,
           "experts are split over TP x EP ranks: give "
           "--expert-tensor-parallel-size"),
    CHANGE("attention-head-type", ONE, "multihead", FLAG_NUM_QUERY_GROUPS,
           "multiquery: give --group-query-attention --num-query-groups 1"),
    CHANGE("cla-share-factor", ONE, "1", FLAG_NONE,
           "layers share keys and values"),
    CHANGE("share-kvstates", SWITCH, NULL, FLAG_NONE,
           "layers share keys and values"),
    CHANGE("sliding-window", ONE, NULL, FLAG_WINDOW_SIZE, WINDOWED),
    CHANGE("sliding-window-size", ONE, NULL, FLAG_WINDOW_SIZE, WINDOWED),
    CHANGE("interleave-sliding-window", ONE, NULL, FLAG_WINDOW_SIZE,
           WINDOWED " and --window-attn-skip-freq"),
    CHANGE("use-moba-attn", SWITCH, NULL, FLAG_NONE, "attention of blocks"),
    CHANGE("full-attention-interval", ONE, "0", FLAG_NONE,
           "layers of linear attention between those of full attention"),
    CHANGE("compress-ratios", MANY, NULL, FLAG_NONE,
           "attention over compressed tokens"),
    CHANGE("enable-dsa-indexer", SWITCH, NULL, FLAG_NONE, INDEXER),
    CHANGE("index-n-heads", ONE, "0", FLAG_NONE, INDEXER),
    CHANGE("index-head-dim", ONE, "0", FLAG_NONE, INDEXER),
    CHANGE("o-lora-rank", ONE, "0", FLAG_NONE,
           "the projection of attention's output has a rank"),
    CHANGE("index-topk", ONE, "0", FLAG_NONE, INDEXER),
    CHANGE("mla-mm-split", SWITCH, NULL, FLAG_NONE,
           "up projections of MLA are split into four matrices"),

    // norms, biases, activations
    CHANGE("embed-layernorm", SWITCH, NULL, FLAG_NONE,
           "a norm behind the embedding, which Megatron does not have"),
    CHANGE("input-embeds-norm", SWITCH, NULL, FLAG_NONE,
           "a norm behind the embedding, which Megatron does not have"),
    CHANGE("post-norm", SWITCH, NULL, FLAG_NONE,
           "two norms more in each layer"),
    CHANGE("post-layer-norm", SWITCH, NULL, FLAG_NONE,
           "norms behind the layers' parts"),
    CHANGE("no-post-layer-norm", SWITCH, NULL, FLAG_NONE,
           "the last norm is left out"),
    CHANGE("no-final-layernorm", SWITCH, NULL, FLAG_NONE,
           "the last norm is left out"),
    CHANGE("no-attn-layernorm", SWITCH, NULL, FLAG_NONE,
           "the norm before attention is left out"),
    CHANGE("no-mlp-layernorm", SWITCH, NULL, FLAG_NONE,
           "the norm before the MLP is left out"),
    CHANGE("qknorm-impl", ONE, NULL, FLAG_QK_LAYERNORM,
           "norms of queries and keys: give --qk-layernorm"),
    CHANGE("add-dense-bias", SWITCH, NULL, FLAG_NONE,
           "a bias at the projection of attention's output alone"),
    CHANGE("add-output-layer-bias", SWITCH, NULL, FLAG_NONE,
           "the output layer has a bias"),
    CHANGE("disable-bias-attn-fc", SWITCH, NULL, FLAG_DISABLE_BIAS_LINEAR,
           "only some biases are left out: --disable-bias-linear leaves out "
           "all"),
    CHANGE("disable-bias-linear-fc", SWITCH, NULL, FLAG_DISABLE_BIAS_LINEAR,
           "only some biases are left out: --disable-bias-linear leaves out "
           "all"),
    CHANGE("xielu", SWITCH, NULL, FLAG_NONE,
           "an activation with parameters of its own"),
    CHANGE("xiprelu", SWITCH, NULL, FLAG_NONE,
           "an activation with parameters of its own"),
    CHANGE("xiprelup", SWITCH, NULL, FLAG_NONE,
           "an activation with parameters of its own"),
    CHANGE("geglu", SWITCH, NULL, FLAG_SWIGLU, GATED),
    CHANGE("glu-activation", ONE, NULL, FLAG_SWIGLU, GATED),
    CHANGE("gated-linear-unit", SWITCH, NULL, FLAG_SWIGLU, GATED),
    CHANGE("activation-func", ONE, "gelu", FLAG_SWIGLU,
           "whether the MLP is gated: give --swiglu or --squared-relu"),
    CHANGE("enable-mhc-connections", SWITCH, NULL, FLAG_NONE,
           "hyper-connections: several residual streams, with weights and "
           "activations of their own"),
    CHANGE("enable-mhc", SWITCH, NULL, FLAG_NONE,
           "hyper-connections: several residual streams, with weights and "
           "activations of their own"),
    CHANGE("hc-mult", ONE, "1", FLAG_NONE,
           "hyper-connections: several residual streams"),

    // vocabulary
    CHANGE("no-pad-vocab-size", SWITCH, NULL, FLAG_PADDED_VOCAB_SIZE,
           "the vocabulary is not padded: give --padded-vocab-size"),
    CHANGE("disable-pad-vocab-size", SWITCH, NULL, FLAG_PADDED_VOCAB_SIZE,
           "the vocabulary is not padded: give --padded-vocab-size"),
    CHANGE("vocab-extra-ids", ONE, "0", FLAG_PADDED_VOCAB_SIZE,
           "tokens more than the tokenizer's: give --padded-vocab-size"),
    CHANGE("extra-vocab-size", ONE, "0", FLAG_PADDED_VOCAB_SIZE,
           "tokens more than the tokenizer's: give --padded-vocab-size"),

    // ranks, stages, order of work
    CHANGE("num-layer-list", ONE, NULL, FLAG_LAYOUT,
           "layers of each stage: give --pipeline-model-parallel-layout"),
    CHANGE("pp-partition-method", ONE, NULL, FLAG_LAYOUT, LAYOUT),
    CHANGE("standalone-embedding-stage", SWITCH, NULL, FLAG_LAYOUT,
           "the embedding has a stage of its own: give "
           "--pipeline-model-parallel-layout, such as 'E|t*8|t*8L'"),
    CHANGE("pipeline-model-parallel-split-rank", ONE, NULL, FLAG_NONE,
           "stages are shared by an encoder and a decoder"),
    CHANGE("encoder-pipeline-model-parallel-size", ONE, "0", FLAG_NONE,
           "an encoder has stages of its own"),
    CHANGE("encoder-tensor-model-parallel-size", ONE, "0", FLAG_NONE,
           "an encoder has ranks of its own"),
    CHANGE("ds-sequence-parallel-size", ONE, "1", FLAG_NONE,
           "sequences are split over data-parallel ranks"),
    CHANGE("tp-2d", SWITCH, NULL, FLAG_NONE, "matrices are split both ways"),
    CHANGE("gtp-weight-remat-size", ONE, "1", FLAG_NONE, SHARDS),
    CHANGE("expert-gtp-weight-remat-size", ONE, "1", FLAG_NONE, SHARDS),
    CHANGE("tensor-parallel-num-weight-shards", ONE, "1", FLAG_NONE, SHARDS),
    CHANGE("expert-tensor-parallel-num-weight-shards", ONE, "1", FLAG_NONE,
           SHARDS),
    CHANGE("schedules-method", ONE, NULL, FLAG_NONE, ORDER),
    CHANGE("use-dualpipev", SWITCH, NULL, FLAG_NONE, ORDER),
    CHANGE("enable-seq1f1b", SWITCH, NULL, FLAG_NONE, ORDER),
    CHANGE("moe-fb-overlap", SWITCH, NULL, FLAG_OVERLAP_MOE_COMM,
           ORDER ": --overlap-moe-expert-parallel-comm is nearest"),
    CHANGE("patch-zero-bubble", SWITCH, NULL, FLAG_NONE, ORDER),
    CHANGE("patch-primus-pipeline", SWITCH, NULL, FLAG_NONE, ORDER),
    CHANGE("use-dynamic-batch-size", SWITCH, NULL, FLAG_MICRO_BATCH_SIZE,
           FILLED),
    CHANGE("dynamic-batching", SWITCH, NULL, FLAG_MICRO_BATCH_SIZE, FILLED),
    CHANGE("sequence-packing", SWITCH, NULL, FLAG_MICRO_BATCH_SIZE, FILLED),
    CHANGE("batch-size", ONE, NULL, FLAG_MICRO_BATCH_SIZE,
           "Megatron refuses it: give --micro-batch-size and "
           "--global-batch-size"),

    // memory
    CHANGE("moe-layer-recompute", SWITCH, NULL, FLAG_RECOMPUTE_MODULES,
           "give --recompute-granularity selective --recompute-modules moe"),
    CHANGE("checkpoint-activations", SWITCH, NULL, FLAG_RECOMPUTE_GRANULARITY,
           RECOMPUTE),
    CHANGE("deepspeed-activation-checkpointing", SWITCH, NULL,
           FLAG_RECOMPUTE_GRANULARITY, RECOMPUTE),
    CHANGE("checkpoint-num-layers", ONE, NULL, FLAG_RECOMPUTE_GRANULARITY,
           RECOMPUTE),
    CHANGE("checkpoint-in-cpu", SWITCH, NULL, FLAG_NONE,
           "activations go to the CPU"),
    CHANGE("partition-activations", SWITCH, NULL, FLAG_NONE,
           "saved activations are split over tensor-parallel ranks"),
    CHANGE("num-microbatches-with-partial-activation-checkpoints", ONE, NULL,
           FLAG_NONE, "some micro-batches recompute less than others"),
    CHANGE("recompute-activation-function", SWITCH, NULL,
           FLAG_RECOMPUTE_MODULES,
           "give --recompute-granularity selective --recompute-modules "
           "moe_act"),
    CHANGE("recompute-in-bubble", SWITCH, NULL, FLAG_NONE,
           "recompute that depends on the stage"),
    CHANGE("recompute-in-advance", SWITCH, NULL, FLAG_NONE,
           "recompute that depends on the stage"),
    CHANGE("enable-recompute-layers-per-pp-rank", SWITCH, NULL, FLAG_NONE,
           "recompute that is counted by rank"),
    CHANGE("moe-zero-memory", ONE, "disable", FLAG_NONE,
           "experts keep less for the backward pass"),
    CHANGE("swap-attention", SWITCH, NULL, FLAG_NONE,
           "activations go to the CPU"),
    CHANGE("swap-optimizer", SWITCH, NULL, FLAG_NONE,
           "the optimizer's state goes to the CPU"),
    CHANGE("mtp-mem-efficient-logits", SWITCH, NULL, FLAG_NONE,
           "logits of MTP are kept in another way"),
    CHANGE("num-micro-batches-with-partial-activation-checkpoints", ONE, "0",
           FLAG_NONE, "micro-batches recompute different layers"),
    CHANGE("activations-checkpoint-layers-per-pipeline", ONE, "0", FLAG_NONE,
           "stages recompute different numbers of layers"),
    CHANGE("reuse-fp32-param", SWITCH, NULL, FLAG_NONE,
           "main parameters share memory with the 16-bit ones"),
    CHANGE("output-layer-slice-num", ONE, "1", FLAG_NONE,
           "logits are worked out in slices"),
    CHANGE("loss-compute-mode", ONE, "default", FLAG_NONE,
           "the loss is worked out in chunks"),
    CHANGE("mlp-chunks-for-training", ONE, "1", FLAG_NONE,
           "MLPs work in chunks"),
    CHANGE("fp32-residual-connection", SWITCH, NULL, FLAG_NONE,
           "residuals have twice the bytes"),
    CHANGE("attention-type", ONE, "multihead", FLAG_NONE,
           "attention of another kind"),
    CHANGE("fp4-format", ONE, NULL, FLAG_NONE,
           "weights and activations of four bits"),
    CHANGE("external-cuda-graph", SWITCH, NULL, FLAG_CUDA_GRAPH_IMPL,
           "CUDA graphs keep buffers of whole layers: give --cuda-graph-impl "
           "and --cuda-graph-modules"),
    CHANGE("moe-train-capacity-factor", ONE, NULL, FLAG_MOE_CAPACITY_FACTOR,
           "experts have room for a fixed number of tokens: give "
           "--moe-expert-capacity-factor"),
    CHANGE("moe-expert-rank-capacity-factor", ONE, NULL, FLAG_NONE,
           "a rank's experts have room for a fixed number of tokens"),
    CHANGE("moe-ncclep-static-shape", SWITCH, NULL, FLAG_NONE,
           "experts have room for the most tokens that can come"),
    CHANGE("zero-stage", ONE, "0", FLAG_DIST_OPT,
           "ZeRO: stage 1 shards what --use-distributed-optimizer shards"),
    CHANGE("cpu-optimizer", SWITCH, NULL, FLAG_OPTIMIZER_OFFLOAD,
           "the optimizer is on the CPU: give --optimizer-cpu-offload"),
    CHANGE("memory-centric-tiled-linear", SWITCH, NULL, FLAG_NONE,
           "linear layers work in tiles"),
    CHANGE("freeze-all-layers", SWITCH, NULL, FLAG_NONE, FROZEN),
    CHANGE("freeze-base-for-mtp", SWITCH, NULL, FLAG_NONE, FROZEN),
    CHANGE("lora-alpha", ONE, NULL, FLAG_NONE, LORA),
    CHANGE("lora-target-modules", MANY, NULL, FLAG_NONE, LORA),
    CHANGE("lora-modules-to-save", MANY, NULL, FLAG_NONE, LORA),

    // other models, and models beside the model
    CHANGE("heterogeneous-block-specs", SWITCH, NULL, FLAG_NONE,
           "layers differ from one another"),
    CHANGE("mtp-spec", MANY, NULL, FLAG_NONE,
           "layers of MTP are of other kinds"),
    CHANGE("retro-add-retriever", SWITCH, NULL, FLAG_NONE, OTHER_MODEL),
    CHANGE("bert-no-binary-head", SWITCH, NULL, FLAG_NONE, OTHER_MODEL),
    CHANGE("biencoder-shared-query-context-model", SWITCH, NULL, FLAG_NONE,
           OTHER_MODEL),
    CHANGE("vision-pretraining", SWITCH, NULL, FLAG_NONE, OTHER_MODEL),
    CHANGE("dino-norm-last-layer", SWITCH, NULL, FLAG_NONE, OTHER_MODEL),
    CHANGE("yaml-cfg", ONE, NULL, FLAG_NONE,
           "all values are in that file: read it in place of this source"),
    CHANGE("export-num-medusa-heads", ONE, "0", FLAG_NONE,
           "heads more than the model's"),
    CHANGE("export-num-eagle-layers", ONE, "0", FLAG_NONE,
           "layers more than the model's"),
    CHANGE("export-eagle-algorithm", ONE, NULL, FLAG_NONE,
           "layers more than the model's"),
    CHANGE("export-num-mtp", ONE, "0", FLAG_MTP_NUM_LAYERS,
           "layers of MTP: give --mtp-num-layers"),
    CHANGE("export-kd-teacher-load", ONE, NULL, FLAG_NONE, TEACHER),
    CHANGE("export-kd-teacher-model-config", ONE, NULL, FLAG_NONE, TEACHER),
    CHANGE("teacher-model-config", ONE, NULL, FLAG_NONE, TEACHER),
    CHANGE("perform-rl-step", SWITCH, NULL, FLAG_NONE,
           "generation takes memory and time beside training"),

    // effects on bytes or times that are not in the model
    WARN("reuse-grad-buf-for-mxfp8-param-ag", SWITCH,
         "one buffer less than is counted"),
    WARN("activation-func-fp8-input-store", SWITCH,
         "inputs of activations have fewer bytes than is counted"),
    WARN("disable-parameter-transpose-cache", SWITCH,
         "transposed FP8 weights are counted all the same"),
    WARN("keep-fp8-transpose-cache", SWITCH,
         "it acts on FP8 weights under FSDP only"),
    WARN("keep-fp8-transpose-cache-when-using-custom-fsdp", SWITCH,
         "it acts on FP8 weights under FSDP only"),
    WARN("fp8-dot-product-attention", SWITCH,
         "attention is counted with two bytes a value"),
    WARN("fp8-multi-head-attention", SWITCH,
         "attention is counted with two bytes a value"),
    WARN("fp8-output-proj", SWITCH, "the output layer is counted in bf16"),
    WARN("fp16-lm-cross-entropy", SWITCH,
         "the loss is counted with logits of four bytes"),
    WARN("output-logit-dtype", ONE,
         "the loss is counted with logits of four bytes"),
    WARN("params-dtype", ONE, "bytes of a parameter are those of --bf16"),
    WARN("memory-efficient-layer-norm", SWITCH,
         "norms are counted with what they keep without it"),
    WARN("scale-positional-embedding", SWITCH,
         "it scales rotary frequencies, which are no parameters"),
    WARN("fsdp-sharding-strategy", ONE, "it acts where fsdp is on only"),
    WARN("fsdp-grad-reduce-dtype", ONE, "it acts where fsdp is on only"),
    WARN("do-layer-norm-weight-decay", SWITCH, "it acts on steps of norms"),
    WARN("bias-zero-mean-update", SWITCH,
         "it moves the routers' correction biases in another way"),
    WARN("optimizer-cuda-graph", SWITCH, "the graph's memory is not counted"),
    WARN("hybrid-context-parallel", SWITCH,
         "groups of ranks change from batch to batch"),
    WARN("logits-load-dir", ONE, "a teacher's logits are not counted"),
    WARN("use-kitchen", SWITCH, "precision of its own is not modelled"),
    WARN("use-kitchen-attention", SWITCH,
         "precision of its own is not modelled"),
    WARN("kitchen-config-file", ONE, "precision of its own is not modelled"),
    WARN("te-precision-config-file", ONE,
         "precision of single layers is not modelled"),
    WARN("quant-recipe", ONE, "precision of single layers is not modelled"),
    WARN("export-quant-cfg", ONE, "quantised weights are counted in bf16"),
    WARN("export-real-quant-cfg", ONE, "quantised weights are counted in bf16"),
    WARN("export-force-local-attention", SWITCH,
         "attention is counted as --attention-backend says"),
    WARN("use-transformer-engine-op-fuser", SWITCH,
         "fused operations keep less than is counted"),
    WARN("use-te-activation-func", SWITCH,
         "what an activation keeps is counted without it"),
    WARN("use-fused-weighted-squared-relu", SWITCH,
         "what an activation keeps is counted without it"),
    WARN("use-grouped-gemm-for-dense-mlp", SWITCH,
         "workspaces are counted without it"),
    WARN("use-grouped-gemm-for-shared-expert", SWITCH,
         "workspaces are counted without it"),
    WARN("use-checkpoint-args", SWITCH,
         "a checkpoint's sizes win over those of the flags, which are taken to "
         "be the same"),
    WARN("use-mp-args-from-checkpoint-args", SWITCH,
         "a checkpoint's sizes win over those of the flags, which are taken to "
         "be the same"),
    WARN("use-legacy-models", SWITCH,
         "older layers keep other activations than is counted"),
    WARN("mtp-standalone", SWITCH,
         "the layout says where MTP goes, not this flag"),
    WARN("decoder-seq-length", ONE,
         "it is of models with a decoder of its own"),
    WARN("deepspeed", SWITCH, "DeepSpeed's own memory is not modelled"),
    WARN("deepspeed-config", ONE,
         "its file may set ZeRO, batch and precision, and is not read"),
    WARN("no-pipeline-parallel", SWITCH,
         "stages are those of --pipeline-model-parallel-size"),
};

const struct foreign_flag *foreign_rows(size_t *n)
{
    *n = sizeof foreign / sizeof foreign[0];
    return foreign;
}

const struct foreign_flag *foreign_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strncmp(foreign[i].name, name, len) == 0 && !foreign[i].name[len])
            return &foreign[i];
    return NULL;
}

/* Off, or the value with which a flag changes nothing. */
bool foreign_is_harmless(const struct foreign_flag *flag, const char *value)
{
    static const char *const no[] = {"false", "False", "None", "null", ""};
    double want, got;
    if (!value)
        return false;
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (strcmp(value, no[i]) == 0)
            return true;
    if (!flag->harmless)
        return false;
    return strcmp(value, flag->harmless) == 0 ||
           (text_to_double(flag->harmless, &want) &&
            text_to_double(value, &got) && want <= got && got <= want);
}

/* ---- names that nobody knows ---- */

// words of sizes, of layers and their parts, of ranks, stages and batches, and
// of what saves memory
static const char model_words[] =
    " activation activations adapter adapters attention attn batch batches "
    "block blocks capacity channel channels dense dim dims embed embedding "
    "embeddings expert experts ffn fp4 fp8 freeze frozen fsdp gated geglu glu "
    "gqa head heads hidden intermediate kv latent layer layernorm layers lora "
    "mamba microbatch microbatches mla mlp moba moe mtp noop norm offload "
    "parallel peft pipeline positions qk qkv qlora query rank recompute "
    "recomputing residual rmsnorm router seq sequence shard shards sharding "
    "ssm stage stages swap swiglu tie tied topk untie virtual vocab "
    "vocabulary vpp width window zero ";

// words of what a step is not: logs, files, data, rates, and kernels and
// transfers that do the same work in another way
static const char other_words[] =
    " alltoall async clip coef coeff comm communication dataset dir dropout "
    "eps epsilon fused fusion init interval kernel log logging loss lr nccl "
    "overlap path print profile profiler save scheduler seed std "
    "tensorboard turbo url wandb wd ";

static const char first_words[] =
    " allow calib ckpt checkpoint critic data dump eval evaluation generation "
    "load resume rollout rope rotary sampling sglang target test tokenizer "
    "train valid validation vllm ";

static bool foreign_has_word(const char *list, const char *word, size_t len)
{
    for (list += 1; *list; list += strcspn(list, " ") + 1)
        if (strncmp(list, word, len) == 0 && list[len] == ' ')
            return true;
    return false;
}

/* By the words of its name: a flag that nobody knows is most likely of data or
 * logs, and a model's size would be wrong without a word if it is not. */
bool foreign_speaks_of_model(const char *name, size_t len)
{
    bool speaks = false, first = true;
    for (const char *end = name + len; name < end; first = false) {
        size_t n = strcspn(name, "-_=");
        n = n < (size_t)(end - name) ? n : (size_t)(end - name);
        if (foreign_has_word(other_words, name, n) ||
            (first && foreign_has_word(first_words, name, n)))
            return false;
        speaks = speaks || foreign_has_word(model_words, name, n);
        name += n + (name + n < end);
    }
    return speaks;
}

/* ---- answers ---- */

/* From the user's own line, not from the source that has the other flag. */
static bool foreign_answered(const struct megatron_flags *f, enum flag_id id)
{
    if (id == FLAG_NONE || !flags_given(f, id) || flags_unknown(f, id))
        return false;
    const char *from = f->slot[id].from;
    return from && (text_starts(from, "option") || text_starts(from, "-- "));
}

/* The row of a flag as the account has it: with dashes in front, in any
 * spelling. */
static const struct foreign_flag *foreign_of_change(const char *flag)
{
    char name[NAMES_MAX_BYTES];
    snprintf(name, sizeof name, "%s", flag + strspn(flag, "-"));
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return foreign_find(name, strlen(name));
}

/* Changes that no flag makes: a word for another kind of model (Primus), and a
 * file with the model's sizes that is not there. The flag that answers. */
static enum flag_id foreign_answer_of_file(const struct megatron_flags *f,
                                           const char *change)
{
    static const enum flag_id patterns[] = {FLAG_HYBRID_LAYER_PATTERN,
                                            FLAG_HYBRID_OVERRIDE_PATTERN};
    for (size_t i = 0; i < 2 && strcmp(change, "model_type: mamba") == 0; i++)
        if (flags_given(f, patterns[i]) && !flags_unknown(f, patterns[i]))
            return patterns[i];
    return text_starts(change, "model: ") &&
                   foreign_answered(f, FLAG_NUM_LAYERS) &&
                   foreign_answered(f, FLAG_HIDDEN_SIZE) &&
                   foreign_answered(f, FLAG_NUM_ATTENTION_HEADS)
               ? FLAG_NUM_LAYERS
               : FLAG_NONE;
}

/* A change that Megatron's own flag answers, given beside it, is no change any
 * more. This is known only when all flags are read. */
void foreign_settle(struct account *account, const struct megatron_flags *f)
{
    const struct account_line *flag = account->changes.first;
    const struct account_line *reason = account->reasons.first;
    account->changes = account->reasons = (struct account_list){.n = 0};
    for (; flag && reason; flag = flag->next, reason = reason->next) {
        const struct foreign_flag *row = foreign_of_change(flag->text);
        enum flag_id by = row && foreign_answered(f, row->flag)
                              ? row->flag
                              : foreign_answer_of_file(f, flag->text);
        if (by == FLAG_NONE) {
            account_change(account, flag->text, reason->text);
            continue;
        }
        char line[256];
        snprintf(line, sizeof line, "%.100s: --%s is given in its place",
                 flag->text, flag_name(by));
        account_add(account, &account->warnings, line);
    }
}
