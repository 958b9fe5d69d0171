/*
 * tensors: memory of the trainer. One object is one allocation of one kind
 * (weights, gradients, optimiser state, activations), carved by a size table:
 * a first pass of tensors_carve() calls makes the table, tensors_alloc() takes
 * the memory, a second pass of the same calls hands out the places. Sizes are
 * in bytes; places start at 64-byte boundaries. Sized for some thousand
 * tensors and a few GB.
 */
#ifndef TRAIN_TENSORS_H
#define TRAIN_TENSORS_H

#include "base/err.h"
#include "ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row of a size table. `id` orders tensors of the whole model and seeds
 * their first values; activations have none (-1). */
struct tensor {
    const char *name; // static storage
    int64_t count;    // elements
    size_t elem_bytes;
    int id;
    bool decay;       // weight decay applies
    double init_std;  // normal with that deviation; negative: all 1
    int64_t offset_b; // set by tensors_carve
};

struct tensors {
    const char *kind;
    struct tensor *item;
    int n_items, n_room;
    int64_t bytes;    // of the allocation, rounding included
    char *base;       // NULL while the table is made
    int cursor;       // next item of the second pass
    bool out_of_room; // the table itself could not grow
};

void tensors_init(struct tensors *t, const char *kind);
void tensors_clear(struct tensors *t);

/* First pass: adds a row and returns NULL. Second pass: the place of the next
 * row, which must be the same as in the first pass. */
void *tensors_carve(struct tensors *t, struct tensor spec);

/* Shorthands for activations. */
real *tensors_carve_real(struct tensors *t, const char *name, int64_t count);
int *tensors_carve_int(struct tensors *t, const char *name, int64_t count);

/* Takes the memory, zeroed and touched. ERR_NOMEM names kind and size. */
enum err tensors_alloc(struct tensors *t, struct err_msg *msg);

/* Zeroes everything. */
void tensors_zero(struct tensors *t);

/* First element of item `i`. */
real *tensors_at(const struct tensors *t, int i);

/* Fills every item that has an id with its first values, which depend on
 * `seed` and the id only, never on where the tensor is. */
void tensors_randomize(struct tensors *t, uint64_t seed);

/* Values of one tensor: normal with deviation `std`, from (seed, id). */
void tensors_normal(real *x, int64_t n, double std, uint64_t key);

#endif
