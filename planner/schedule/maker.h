/*
 * maker: a rank's list while it is being made. One step adds work or a group
 * of messages; what step k sends and receives is said by small functions:
 *   a rank sends what it has just computed, unless it is the model's end;
 *   every rank but the first receives the input of its next forward; the first
 *   receives what the last rank computed P-1 steps ago, which may be used much
 *   later when groups are larger than P. Backwards are the mirror of that.
 * (schedules.py, recv_tensor_from_previous_stage.) For schedule.c and lists.c.
 */
#ifndef SCHEDULE_MAKER_H
#define SCHEDULE_MAKER_H

#include "schedule.h"

struct maker {
    const struct order *order;
    enum p2p_mode mode;
    int rank;
    int warm, all;  // forwards before the first backward, and in all
    struct op *ops; // NULL: only counted
    int n;
};

/* Writes the whole list of the maker's rank and mode; sets `n`. */
void maker_list(struct maker *m);

/* An operation without messages or micro-batch. */
struct op maker_op(enum op_kind kind);

/* Adds a group of messages, unless it has none. */
void maker_group(struct maker *m, const struct op *op);

/* Add forward k; backward k; one piece of steady step k as a combined
 * operation; all work of steady step k: a forward and a backward, or all
 * pieces. */
void maker_forward(struct maker *m, int k);
void maker_backward(struct maker *m, int k);
void maker_piece(struct maker *m, enum op_kind kind, int k);
void maker_steady(struct maker *m, int k);

/* Put into `op` what forward or backward k sends, if it does; its own input,
 * if that comes from another rank; what is received beside it. */
void maker_send_forward(const struct maker *m, struct op *op, int k);
void maker_send_backward(const struct maker *m, struct op *op, int k);
void maker_input_forward(const struct maker *m, struct op *op, int k);
void maker_input_backward(const struct maker *m, struct op *op, int k);
void maker_recv_forward(const struct maker *m, struct op *op, int k);
void maker_recv_backward(const struct maker *m, struct op *op, int k);

/* Beside which step the input of forward k, and the gradient of backward k,
 * is received; -1: before the first. For those that have one. */
int maker_step_of_input(const struct maker *m, int k);
int maker_step_of_gradient(const struct maker *m, int k);

#endif
