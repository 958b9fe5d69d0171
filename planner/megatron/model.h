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

/* ---- rules of its parts, for values ---- */

/* Width of the MLP that Megatron takes where none is given: 4h, or 8/3 h
 * rounded down to a multiple of 64 with SwiGLU. */
int64_t megatron_default_ffn(const struct megatron_flags *f, int64_t hidden);

/* The stated padded size, or the tokens padded to a multiple of divisor x TP;
 * 0 where the flags do not tell the tokens. */
int64_t megatron_padded_vocab(const struct megatron_flags *f, int64_t tp);

/* Does --experimental-attention-variant name gated delta net? */
bool megatron_has_delta_net(const struct megatron_flags *f);

/* Virtual stages a rank: stated, of the layout, or from the layers of a
 * virtual stage; 1 where these do not come out whole. ERR_NOMEM. */
enum err megatron_virtual_stages(struct arena *a,
                                 const struct megatron_flags *f, int *out,
                                 struct err_msg *msg);

#endif
