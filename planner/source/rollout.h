/*
 * rollout: trainers of reinforcement learning that take Megatron's own flags
 * and start its processes themselves (slime, miles, through ray): their flags
 * say how many ranks train, and how many sequences a step has.
 *
 * In: the words behind the program. Out: the world size and the global batch in
 * their slots, where Megatron's flags and the launcher leave them open.
 */
#ifndef MEGATRON_ROLLOUT_H
#define MEGATRON_ROLLOUT_H

#include "base/err.h"
#include "dialect.h"
#include "megatron/args.h"

/* Reads them; other programs' words are left alone. A number that is not known
 * makes what it gives unknown. ERR_NOMEM. */
enum err rollout_read(struct megatron_args *to,
                      const struct dialect_words *words, struct err_msg *msg);

#endif
