/*
 * overrides: what a command line option or a manifest's key says in place of
 * the model's source: sizes that stand for a flag, and settings of a plan that
 * no flag has (the version of Megatron core, the GPU, transfers, the memory
 * margin, the GPUs of a node). One table names all three spellings, so that
 * every command and the harness take the same ones and cannot differ.
 */
#ifndef MEGATRON_OVERRIDES_H
#define MEGATRON_OVERRIDES_H

#include "flags.h"

#include <stddef.h>
#include <stdint.h>

/* identifier, the flag it stands for (FLAG_NONE: none, a text), option of
 * moe-layout, key of a manifest ("": none). A command line for the trainer has
 * them in this order. */
#define OVERRIDE_TABLE(X)                                                      \
    X(OVERRIDE_TP, FLAG_TP, "--tp", "parallel.tp")                             \
    X(OVERRIDE_PP, FLAG_PP, "--pp", "parallel.pp")                             \
    X(OVERRIDE_VPP, FLAG_VPP, "--vpp", "parallel.vpp")                         \
    X(OVERRIDE_CP, FLAG_CP, "--cp", "parallel.cp")                             \
    X(OVERRIDE_EP, FLAG_EP, "--ep", "parallel.ep")                             \
    X(OVERRIDE_ETP, FLAG_ETP, "--etp", "parallel.etp")                         \
    X(OVERRIDE_GROUP, FLAG_MB_GROUP, "--group", "parallel.group")              \
    X(OVERRIDE_MBS, FLAG_MICRO_BATCH_SIZE, "--mbs", "batch.micro_batch")       \
    X(OVERRIDE_GBS, FLAG_GLOBAL_BATCH_SIZE, "--gbs", "batch.global_batch")     \
    X(OVERRIDE_SEQ, FLAG_SEQ_LENGTH, "--seq", "batch.seq_tokens")              \
    X(OVERRIDE_WORLD, FLAG_WORLD_SIZE, "--world", "parallel.world")            \
    X(OVERRIDE_CORE, FLAG_NONE, "--core", "trainer.core")                      \
    X(OVERRIDE_PLATFORM, FLAG_NONE, "--platform", "hardware.gpu")              \
    X(OVERRIDE_P2P, FLAG_NONE, "--p2p", "")                                    \
    X(OVERRIDE_MARGIN, FLAG_NONE, "--memory-margin", "")                       \
    X(OVERRIDE_NODE, FLAG_NONE, "--gpus-per-node", "")

enum override_id {
#define OVERRIDE_ENUM(id, flag, option, key) id,
    OVERRIDE_TABLE(OVERRIDE_ENUM)
#undef OVERRIDE_ENUM
        N_OVERRIDES
};

/* Values by row: a size (0: not given) where the row has a flag, else a text
 * (NULL: not given). */
struct overrides {
    int64_t size[N_OVERRIDES];
    const char *text[N_OVERRIDES];
};

/* Columns of a row: FLAG_NONE where it is no flag's; the option's name with
 * its dashes. */
enum flag_id override_flag(enum override_id id);
const char *override_option(enum override_id id);

/* "" where a manifest cannot say it. */
const char *override_key(enum override_id id);

/* Puts the sizes into the flags' slots; they win. Virtual stages, or another
 * number of stages than the source's, drop the source's own split. */
void overrides_apply(const struct overrides *o, struct megatron_flags *f);

#endif
