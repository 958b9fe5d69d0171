/*
 * model: from the texts of Megatron's flags to a struct model. Works
 * out defaults that depend on other flags, as Megatron does, and checks that
 * the parts fit together.
 */
#ifndef MEGATRON_MODEL_H
#define MEGATRON_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "flags.h"
#include "model/model.h"

/* ERR_PARSE for a flag that is missing, ERR_RANGE for one that does not fit;
 * both name it. Without --world-size the world is the smallest multiple of
 * TP x CP x PP that EP x ETP x PP divides. Owned by the arena. */
enum err megatron_model(struct arena *a, const struct megatron_flags *f,
                        struct model *out, struct err_msg *msg);

#endif
