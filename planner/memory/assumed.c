#include "assumed.h"

#include <string.h>

/* A text that could not be made is NULL, and found at the end. */
static void assumed_add(struct memory_assumed *all, const char *text)
{
    if (all->n < MEMORY_MAX_ASSUMED)
        all->text[all->n++] = text;
}

static void assume_ranks(struct arena *a, const struct model *m,
                         struct memory_assumed *all)
{
    if (m->memory.world_unknown)
        assumed_add(
            all, arena_printf(a,
                              "world size %d: the smallest that TP x CP x PP "
                              "and EP x ETP x PP allow (--world)",
                              m->par.world));
}

static void assume_platform(struct arena *a, enum platform p, bool stated,
                            struct memory_assumed *all)
{
    const char *name = platform_name(p);
    if (!stated)
        assumed_add(all, arena_printf(a,
                                      "platform %s: its libraries' workspaces "
                                      "count (--platform)",
                                      name));
    if (!platform_is_measured(p))
        assumed_add(all,
                    arena_printf(a,
                                 "workspaces of %s: read off its libraries' "
                                 "sources, not borne out by a measured run",
                                 name));
}

static bool assumed_has(const struct model *m, enum unit_kind symbol)
{
    const char *mtp = m->mtp_symbols ? m->mtp_symbols : "";
    return model_unit_count(m, symbol) > 0 || strchr(mtp, kind_symbol(symbol));
}

/* Megatron's measured hybrid models have Mamba, attention and experts on one
 * stage in bf16, without context parallelism and recompute. */
static void assume_hybrid(const struct model *m, struct memory_assumed *all)
{
    const struct memory_options *o = &m->memory;
    if (!model_is_hybrid(m))
        return;
    if (assumed_has(m, KIND_DELTA))
        assumed_add(all,
                    "unchecked: activations of gated delta net (G), listed "
                    "from the source; no measured run has it");
    if (assumed_has(m, KIND_SPARSE))
        assumed_add(all,
                    "unchecked: activations of sparse attention (D), those "
                    "of latent attention and its indexer; no measured run "
                    "has it");
    if (m->par.pp > 1)
        assumed_add(all, "unchecked: hybrid models over pipeline stages; the "
                         "measured ones have one");
    if (o->recompute || o->full_recompute != RECOMPUTE_NONE)
        assumed_add(all, "unchecked: recompute in hybrid models");
    if (assumed_has(m, KIND_MAMBA) && (o->fp8 || m->par.cp > 1))
        assumed_add(all, "unchecked: Mamba layers in FP8 or with context "
                         "parallelism");
}

/* Every term of moe-train is exact, and on a CPU. */
enum err memory_assumed(struct arena *a, const struct memory_terms *t,
                        struct memory_stated stated, struct memory_assumed *out,
                        struct err_msg *msg)
{
    const struct model *m = t->model;
    const bool megatron = t->rules.trainer == TRAINER_MEGATRON;
    struct memory_assumed all = {.n = 0};
    assume_ranks(a, m, &all);
    if (megatron)
        assume_platform(a, t->platform, stated.platform, &all);
    if (!stated.batch)
        assumed_add(&all, arena_printf(a,
                                       "%lld micro-batches a step, as many as "
                                       "can be in flight (--gbs)",
                                       (long long)m->batch.n_microbatches));
    if (megatron && m->memory.precision_unknown)
        assumed_add(&all, "bf16: neither --bf16 nor --fp16 is stated, without "
                          "which Megatron trains in fp32");
    if (megatron && m->memory.graphs)
        assumed_add(&all, "CUDA graphs: peaks count the graphs' private pool, "
                          "which PyTorch's own peak leaves out after capture");
    if (megatron)
        assume_hybrid(m, &all);
    if (megatron && m->memory.offload)
        assumed_add(&all, "activation offloading: the peaks of the one run "
                          "that was measured are 5% above the prediction");
    for (int i = 0; i < all.n; i++)
        if (!all.text[i])
            return err_set(msg, ERR_NOMEM, "memory: out of memory");
    *out = all;
    return ERR_OK;
}
