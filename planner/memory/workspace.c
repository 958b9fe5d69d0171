/*
 * How it works: each workspace is a term of its own with its source in the code
 * of Megatron, Transformer Engine or PyTorch; the two that have none are
 * constants fitted to measured cases. All are allocated once and stay.
 */
#include "workspace.h"

#include "activations.h"

#include <ctype.h>
#include <string.h>

static const int64_t KIB = 1 << 10, MIB = 1 << 20;

enum {
    CONFIGURED_MIB = 32, // CUBLAS_WORKSPACE_CONFIG=:4096:8, 8 of 4096 KiB
    GROUPED_STREAMS = 4, // module/base.py, workspaces of the grouped GEMM
    GRADIENT = 4,        // bytes of an fp32 gradient
    CUBLAS_HANDLES = 2   // threads of forward and backward have one each
};

/* `moe-layout memory --corpus` fits them anew and says to how many cases. */
const struct memory_constants MEMORY_CONSTANTS = {.small_bytes = 1413 << 10,
                                                  .muon_bytes = 20550 << 10};

static const struct {
    const char *name;
    int te_mib, cublas_kib;
    bool measured;
} platforms[N_PLATFORMS] = {
#define PLATFORM_ROW(id, name, te, cublas, measured)                           \
    {name, te, cublas, measured},
    PLATFORM_TABLE(PLATFORM_ROW)
#undef PLATFORM_ROW
};

// parts of one generation have the same libraries: GB300 and B300 are
// capability 10.3, MI350X is MI355X with air cooling
static const struct {
    const char *word;
    enum platform platform;
} words[] = {
    {"gb200", PLATFORM_BLACKWELL}, {"gb300", PLATFORM_GB300},
    {"b200", PLATFORM_B200},       {"b300", PLATFORM_GB300},
    {"h100", PLATFORM_HOPPER},     {"h200", PLATFORM_HOPPER},
    {"h800", PLATFORM_HOPPER},     {"h20", PLATFORM_HOPPER},
    {"a100", PLATFORM_AMPERE},     {"a800", PLATFORM_AMPERE},
    {"lts", PLATFORM_AMPERE},      {"mi300", PLATFORM_MI300X},
    {"mi325", PLATFORM_MI300X},    {"gfx942", PLATFORM_MI300X},
    {"mi350", PLATFORM_MI355X},    {"mi355", PLATFORM_MI355X},
    {"gfx950", PLATFORM_MI355X},
};

/* Part of a name will do: "dev_dgx_h100", "NVIDIA H100 80GB HBM3". Longer words
 * stand before those that they contain. */
bool platform_from_name(const char *name, enum platform *out)
{
    char low[128];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof low; n++)
        low[n] = (char)tolower((unsigned char)name[n]);
    low[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(low, words[i].word)) {
            *out = words[i].platform;
            return true;
        }
    return false;
}

const char *platform_name(enum platform p)
{
    return platforms[p].name;
}

const char *platform_names(void)
{
#define PLATFORM_NAMES(id, name, te, cublas, measured) name ", "
    return PLATFORM_TABLE(PLATFORM_NAMES) "or a name that holds one";
#undef PLATFORM_NAMES
}

bool platform_is_measured(enum platform p)
{
    return platforms[p].measured;
}

/* Local kernels of a dense model never load Transformer Engine. */
static int64_t gemm_bytes(const struct model *m, enum platform p)
{
    if (m->memory.local_kernels && !m->n_experts)
        return 0;
    int n = m->memory.grouped_gemm && m->n_experts ? 1 + GROUPED_STREAMS : 1;
    return n * platforms[p].te_mib * MIB;
}

/* PyTorch keeps a workspace for each pair of handle and stream; the stream of
 * overlapped expert communication has no products. */
static int64_t cublas_bytes(const struct model *m, enum platform p)
{
    int64_t one = m->memory.deterministic ? CONFIGURED_MIB * MIB
                                          : platforms[p].cublas_kib * KIB;
    return one * CUBLAS_HANDLES;
}

/* Measured, without a source: where forward and backward are combined on a rank
 * that has both ends of a tied table, 48 to 53 MiB more stay, of which the
 * table's gradient in fp32 is 49.2 (three runs; five with untied tables have
 * nothing like it). */
static int64_t table_grad_bytes(const struct model *m,
                                const struct workspace_place *at)
{
    const struct weight_shares shares = weights_shares(m);
    struct weight table = weights_token_table(m, &shares);
    bool both = at->has[KIND_E] && at->has[KIND_L] && m->tied;
    return m->overlap_moe_comm && both ? GRADIENT * weight_params(&table) : 0;
}

/* Megatron's global memory buffer "mpu" serves both the gathered input of the
 * output layer and the product of an unfused attention (DotProductAttention of
 * the local kernels), and grows to the larger. */
static int64_t global_buffer_bytes(const struct model *m, bool has_loss)
{
    const struct batch *b = &m->batch;
    const int64_t value = memory_value_bytes(&m->memory);
    int64_t inside = b->micro_batch * b->seq_tokens / m->par.cp;
    int64_t gathered = m->memory.sequence_parallel && has_loss
                           ? value * inside * m->hidden
                           : 0;
    int64_t scores = m->memory.local_kernels ? value * inside * b->seq_tokens *
                                                   m->n_heads / m->par.tp
                                             : 0;
    return gathered > scores ? gathered : scores;
}

/* ---- dummy gradients ---- */

/* All units of a rank, and its copy of the token table. */
enum { WORKSPACE_MAX_SHAPES = N_KINDS * WEIGHTS_MAX + 1 };

struct shapes {
    int64_t rows[WORKSPACE_MAX_SHAPES], cols[WORKSPACE_MAX_SHAPES];
    int n;
    int64_t value, bytes; // of a value; of all
};

/* Once for each shape, whatever the number of weights that have it. */
static void add_shape(struct shapes *s, const struct weight *w)
{
    for (int i = 0; i < s->n; i++)
        if (s->rows[i] == w->rows && s->cols[i] == w->cols)
            return;
    s->rows[s->n] = w->rows;
    s->cols[s->n++] = w->cols;
    s->bytes += s->value * w->rows * w->cols;
}

/* The GEMM adds to the fp32 gradient itself; autograd gets a bf16 dummy, one
 * for each distinct shape (module/base.py, get_dummy_wgrad). */
static int64_t dummy_bytes(const struct model *m,
                           const struct workspace_place *at)
{
    const struct weight_shares shares = weights_shares(m);
    struct shapes s;
    s.n = 0;
    s.bytes = 0;
    s.value = memory_value_bytes(&m->memory);
    for (int k = 0; m->memory.grad_fusion && k < N_KINDS; k++) {
        struct weights t;
        if (!at->has[k])
            continue;
        weights_of_unit(m, (enum unit_kind)k, &shares, &t);
        for (int i = 0; i < t.n; i++)
            if (WEIGHT_USE[t.row[i].role].fused)
                add_shape(&s, &t.row[i]);
    }
    if (m->memory.grad_fusion && at->has[KIND_L] && m->tied) {
        struct weight table = weights_token_table(m, &shares);
        add_shape(&s, &table);
    }
    return s.bytes;
}

/* Where a graph of a layer finds its input and leaves its output, for each
 * micro-batch in flight (TransformerLayer.get_layer_static_inputs(); buffers
 * are used again from one micro-batch to the next). */
int64_t memory_graph_states(const struct model *m, int n_graphed)
{
    return 2 * n_graphed * memory_hidden_bytes(m);
}

/* A graph of the attention has the mask as an input, too, of one byte a pair of
 * tokens, whether the loader makes one or not. */
static int64_t graph_bytes(const struct model *m,
                           const struct workspace_place *at)
{
    const struct batch *b = &m->batch;
    int64_t mask = b->micro_batch * b->seq_tokens * b->seq_tokens / m->par.cp;
    if (!m->memory.graphs_attention)
        mask = 0;
    return memory_graph_states(m, at->n_graphed) + at->n_graphed * mask;
}

/* ---- all ---- */

/* The mask is one byte a pair of tokens, made by the data loader on stages that
 * read a batch. */
void memory_workspaces(const struct model *m, const struct workspace_place *at,
                       struct workspaces *out)
{
    const struct memory_options *o = &m->memory;
    const struct batch *b = &m->batch;
    bool reads = at->has[KIND_E] || at->has[KIND_M] || at->has[KIND_L];
    int64_t inside = b->micro_batch * b->seq_tokens / m->par.cp;
    *out = (struct workspaces){
        .gemm = gemm_bytes(m, at->platform),
        .cublas = cublas_bytes(m, at->platform),
        .global_buffer = global_buffer_bytes(m, at->has[KIND_L]),
        .mask = o->attention_mask && reads ? inside * b->seq_tokens : 0,
        .dummy_grads = dummy_bytes(m, at),
        // each decoder keeps its input tensor, and that keeps its gradient
        .received = 2 * at->n_fed_chunks * at->states_a_message *
                    memory_hidden_bytes(m),
        .table_grad = table_grad_bytes(m, at),
        .graphs = o->graphs ? graph_bytes(m, at) : 0,
        .muon =
            o->optimizer == OPTIMIZER_ADAM ? 0 : MEMORY_CONSTANTS.muon_bytes,
        .small = MEMORY_CONSTANTS.small_bytes};
}

int64_t memory_workspaces_sum(const struct workspaces *w)
{
    return w->gemm + w->cublas + w->global_buffer + w->mask + w->dummy_grads +
           w->received + w->graphs + w->muon + w->table_grad + w->small;
}
