/*
 * model: what is trained, how it is split over ranks, and what each unit of it
 * weighs. Plain data plus derived sizes; reading it from flags, files and
 * scripts is megatron_args.
 *
 * Units are the placeable pieces of a pipeline layout: E embedding, t decoder
 * layer, m MTP layer, L loss with the output layer. Units that cost the same
 * are of one kind. Sized for up to a few hundred layers.
 *
 * A layer is lean where its attention does without what the others have: gated
 * delta net in place of scores (Qwen3-Next), or no indexer of its own beside
 * sparse attention (GLM with shared top-k).
 *
 * A hybrid model (--hybrid-layer-pattern) has a symbol for each decoder layer:
 * attention and MLP or experts are layers of their own, beside Mamba and gated
 * delta net, each with one norm. Its layouts have one t for each symbol, so all
 * that is said of layers and kinds here holds for it unchanged.
 */
#ifndef MODEL_H
#define MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "memory_options.h"

#include <stdbool.h>
#include <stdint.h>

enum unit_kind {
    KIND_E,
    KIND_T,
    KIND_T_DENSE,
    KIND_T_LEAN,
    KIND_T_DENSE_LEAN,
    KIND_M,
    KIND_L,
    // symbols of hybrid models
    KIND_MAMBA,     // M
    KIND_DELTA,     // G gated delta net
    KIND_ATTENTION, // *
    KIND_LATENT,    // + multi-latent attention
    KIND_SPARSE,    // D DeepSeek's sparse attention
    KIND_MLP,       // -
    KIND_EXPERTS,   // E
    N_KINDS
};

enum { MODEL_MAX_LAYERS = 4096 };

/* Tensor, pipeline, context, expert and expert-tensor parallelism; `world` is
 * the number of ranks and `dp` = world/(tp*cp*pp) follows from it. */
struct parallel {
    int tp, pp, vpp, cp, ep, etp, world, dp;
};

/* Megatron's flags that change its default split (layout/default_split). */
struct default_split {
    int first_layers, last_layers;    // of the ranks at the ends, 0: not given
    int chunk_layers;                 // of a virtual stage, 0: not given
    bool count_embedding, count_loss; // E, L count as one layer
    bool virtual_stages;              // their number is given
};

struct batch {
    int64_t micro_batch;    // sequences a micro-batch
    int64_t global_batch;   // sequences a step
    int64_t n_microbatches; // global_batch / (micro_batch * dp)
    int64_t seq_tokens;     // tokens a sequence
};

/* Gated delta net in lean layers (ssm/gated_delta_net): heads of keys and of
 * values with their sizes, taps of the convolution. v_heads 0: there is none.
 */
struct linear_attention {
    int64_t k_heads, v_heads, k_dim, v_dim, taps;
    bool channel_gates; // gdn2: gates for each channel, not for each head
};

/* The indexer of DeepSeek's sparse attention (experimental_attention_variant/
 * dsa.py): queries attend to the `topk` keys that it picks. heads 0: none. */
struct indexer {
    int64_t heads, dim, topk;
};

/* Mamba-2 (ssm/mamba_mixer.py): n_heads of head_dim values, each with a state
 * of state_dim, which n_groups of heads share the ways into. */
struct mamba {
    int64_t state_dim, head_dim, n_groups, n_heads;
};

struct model {
    int n_layers; // decoder layers, MTP not counted
    int n_mtp;    // MTP layers (0: none)
    int64_t hidden;
    int64_t ffn; // width of a dense layer's MLP
    int64_t n_heads, n_kv_heads, head_dim;
    int64_t vocab;        // as given
    int64_t padded_vocab; // rounded up as Megatron pads it
    int64_t n_experts;    // 0: every layer is dense
    int64_t moe_ffn, topk;
    int64_t shared_ffn; // width of the shared expert, 0: none
    bool gated;         // SwiGLU: two input projections in an MLP
    bool tied;          // output layer shares the embedding
    bool layernorm;     // LayerNorm (weight and bias), else RMSNorm
    bool linear_bias, qkv_bias, qk_norm;
    bool learned_positions;  // else rotary
    int64_t max_positions;   // rows of learned positions
    bool mla;                // multi-latent attention: the five below
    int64_t q_lora, kv_lora; // latent widths; q_lora 0: queries not compressed
    int64_t qk_dim, qk_rope_dim, v_dim; // of a head
    bool qk_norm_full;                  // one norm over all heads, as in OLMoE
    bool sinks;         // a learned softmax offset for each query head
    bool attn_gate;     // queries bring a gate on attention's output
    bool attn_out_bias; // its output projection has a bias of its own
    bool output_bias;   // the output layer has a bias
    bool post_norms;    // norms also behind attention and MLP
    struct linear_attention linear; // of lean layers
    struct indexer indexer;         // of layers that are not lean
    const uint8_t *layer_lean;      // n_layers flags; NULL: none is lean
    bool shared_gate;       // a gate of h parameters on the shared expert
    int64_t latent;         // width that routed experts work on, 0: hidden
    bool expert_bias;       // router's correction bias, a buffer in Megatron
    bool count_bias;        // count that buffer as parameters
    bool mtp_repeated;      // one MTP layer, used n_mtp times
    bool overlap_moe_comm;  // --overlap-moe-expert-parallel-comm
    bool no_overlap_p2p;    // --no-overlap-p2p-communication
    bool overlap_p2p_flush; // --overlap-p2p-communication-warmup-flush
    int64_t window;         // tokens a windowed layer attends to, 0: all
    const uint8_t *layer_window; // n_layers flags: 1 when the layer attends to
                                 // the window only; NULL without a window
    int64_t optimizer_instances; // of the distributed optimiser, 0 as 1
    const uint8_t *layer_moe;    // n_layers flags: 1 when the layer has experts
    const char *symbols;         // hybrid: n_layers of "MG*+D-E"; NULL: GPT
    const char *mtp_symbols;     // hybrid with MTP: those of one depth
    struct mamba mamba;          // of layers M
    struct memory_options memory;
    struct parallel par;
    struct default_split split;
    struct batch batch;
};

/* Who trains: Megatron-LM on GPUs, or moe-train on the cores of a CPU. */
enum trainer_kind { TRAINER_MEGATRON, TRAINER_MOE_TRAIN };

/* Name in manifests, costs files and options: "megatron", "moe-train"; and the
 * trainer of a name, false when there is none. */
const char *trainer_name(enum trainer_kind t);
bool trainer_from_name(const char *name, enum trainer_kind *out);

/* Bytes for each parameter and value. Megatron's mixed precision: bf16
 * parameters, fp32 gradients, fp32 master copy and two Adam moments. moe-train
 * keeps all in fp32. */
struct memory_rules {
    enum trainer_kind trainer;
    int param_bytes, grad_bytes, optimizer_bytes, value_bytes;
    // what memory_fit adds from measured runs: to a unit's activations and to
    // the loss head (relative), to every rank (bytes); 0: nothing
    double unit_more[N_KINDS], head_more, rank_more_bytes;
};
extern const struct memory_rules MEMORY_MEGATRON;
extern const struct memory_rules MEMORY_MOE_TRAIN;

/* That of the two which is the trainer's. */
const struct memory_rules *memory_rules_of(enum trainer_kind t);

/* Letter of a kind in a layout ('t' for all decoder layers), and its name in
 * costs files and tables ("E", "t", "t_dense", "t_lean", "t_dense_lean", "m",
 * "L"). */
char kind_letter(enum unit_kind kind);
const char *kind_name(enum unit_kind kind);

/* Is it a decoder layer? One of the dense kinds? A lean one? */
bool kind_is_layer(enum unit_kind kind);
bool kind_is_dense(enum unit_kind kind);
bool kind_is_lean(enum unit_kind kind);

/* A symbol of hybrid models? One whose layer attends to keys? The symbol of a
 * kind, '\0' of others; the kind of a symbol, N_KINDS where there is none. */
bool kind_is_symbol(enum unit_kind kind);
bool kind_has_scores(enum unit_kind kind);
char kind_symbol(enum unit_kind kind);
enum unit_kind kind_of_symbol(char symbol);

bool model_is_hybrid(const struct model *m);

/* Kind of decoder layer `layer` (0-based): KIND_T when it has experts or when
 * the model has none at all, else KIND_T_DENSE; or the lean one of these. That
 * of its symbol in a hybrid model. */
enum unit_kind model_layer_kind(const struct model *m, int layer);

/* Kind of the decoder layer within an MTP layer: that of the last one, but with
 * an indexer where there are any (multi_token_prediction.py numbers it 1). Of
 * GPT models: a hybrid one's MTP depth has the layers of mtp_symbols. */
enum unit_kind model_mtp_kind(const struct model *m);

/* The kind of decoder layer that others are counted in: one with experts where
 * there is any, else a dense one; of a hybrid model the symbol with most FLOPs.
 */
enum unit_kind model_base_kind(const struct model *m);

/* How many units of the kind the model has. */
int model_unit_count(const struct model *m, enum unit_kind kind);

/* Parameters of one unit, and those that take part for one token. A tied
 * output layer weighs nothing; the final norm counts with L, which sits where
 * the last decoder layer does not matter for one parameter vector. m is three
 * norms, the 2h x h projection and one decoder layer of the last one's kind.
 * Shapes are those of Megatron's modules (attention.py,
 * multi_latent_attention.py, ssm/gated_delta_net, moe/router.py,
 * moe/experts.py, moe/shared_experts.py, multi_token_prediction.py). */
int64_t model_unit_params(const struct model *m, enum unit_kind kind);
int64_t model_unit_active_params(const struct model *m, enum unit_kind kind);

/* Forward floating-point operations of one unit for one micro-batch (two per
 * multiply-add; attention scores causal, so half, and no more than the window;
 * norms, biases and softmax left out). Where windowed and full layers are of
 * one kind this is their mean. Sparse attention meets its top-k keys, whose
 * latents stand for all heads' (absorbed_mla.py); gated delta net takes four
 * products of a head's key and value sizes a token, Mamba's scan 7 operations
 * for each value and entry of its state, as Megatron counts them (training.py).
 * L makes 1+K output passes, as Megatron computes the MTP heads there. The
 * backward pass is twice this. */
double model_unit_fwd_flops(const struct model *m, enum unit_kind kind);

/* Whole model without MTP, as model cards count it, and the MTP block. Some
 * cards leave the input embedding out of the active ones, because a token only
 * looks one row up; tied, it is the output layer and stays. */
int64_t model_total_params(const struct model *m);
int64_t model_active_params(const struct model *m);
int64_t model_active_params_no_lookup(const struct model *m);
int64_t model_mtp_params(const struct model *m);

/* One number that decides what a unit costs. Keys are Megatron's flag names in
 * snake_case where there is one; recompute and precision have keys of ours. */
struct model_fact {
    const char *key;
    int64_t value;
};
enum { MODEL_N_FACTS = 48 };

/* The fingerprint of costs: what two runs of the same model, batch, split over
 * ranks, recompute and precision share; layout, pipeline size and file names
 * are not part of it. Fills `facts` and returns how many; the keys are the same
 * for all models but for latent attention's two and the layers of each symbol
 * of a hybrid model at the end. */
int model_facts(const struct model *m, struct model_fact facts[MODEL_N_FACTS]);

#endif
