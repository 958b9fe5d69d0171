/*
 * rendezvous: does a schedule come to its end when a message moves only once
 * both ends have posted it? Megatron's own lists do, but not always with a
 * shape exchange before every transfer (standalone MTP): interleaved, without
 * overlapped transfers and with all micro-batches in one group, ranks can wait
 * for each other in a ring. Better to say so than to hang.
 * No time and no messages in it; sized as schedules are, some milliseconds.
 */
#ifndef TRAIN_RENDEZVOUS_H
#define TRAIN_RENDEZVOUS_H

#include "base/arena.h"
#include "base/err.h"
#include "schedule/schedule.h"

#include <stdbool.h>

/* Goes through the lists of all ranks, with `shapes` exchanged and waited for
 * before each group of messages. ERR_RANGE when they would wait for ever,
 * ERR_NOMEM. */
enum err rendezvous_check(struct arena *a, const struct schedule *s,
                          bool shapes, struct err_msg *msg);

#endif
