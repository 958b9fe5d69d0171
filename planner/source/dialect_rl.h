/*
 * dialect_rl: configurations of NeMo-RL and ROLL, trainers of reinforcement
 * learning: Megatron's names are in one of their maps, the batch in another,
 * the model's sizes in the config.json of a checkpoint that they name. In: a
 * tree. Out: slots of args. For dialect_form's table only.
 */
#ifndef MEGATRON_DIALECT_RL_H
#define MEGATRON_DIALECT_RL_H

#include "base/err.h"
#include "dialect_form.h"

/* What NeMo-RL and ROLL state outside of the map of Megatron's names. Ranks
 * that generate and do not train make the world unknown; micro-batches that are
 * filled by tokens are noted for the end, since a file may take back what the
 * one that it is put over says. */
enum err dialect_nemo_rl(struct dialect *d);
enum err dialect_roll(struct dialect *d);

/* Says what was noted, once all files were read. */
void dialect_tell_packed(struct dialect *d);

#endif
