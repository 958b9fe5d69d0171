/*
 * How it works: the first pass of carve calls writes the table of sizes, the
 * second walks along it with a cursor. Nothing but the order of the calls joins
 * the two, and asserts hold each call against its row.
 */
#include "tensors.h"

#include "base/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A cache line, and the widest vector. */
enum { TENSORS_ALIGN_BYTES = 64 };

void tensors_init(struct tensors *t, const char *kind)
{
    *t = (struct tensors){.kind = kind};
}

void tensors_clear(struct tensors *t)
{
    free(t->item);
    free(t->base);
    tensors_init(t, t->kind);
}

/* Doubling: a stage has some hundred tensors. */
static bool tensors_grow(struct tensors *t)
{
    int room = t->n_room ? 2 * t->n_room : 64;
    struct tensor *item = realloc(t->item, (size_t)room * sizeof *item);
    if (!item)
        return false;
    t->item = item;
    t->n_room = room;
    return true;
}

/* Negative where it would overflow. */
static int64_t rounded_bytes(const struct tensor *spec)
{
    int64_t size = (int64_t)spec->elem_bytes;
    if (spec->count > (INT64_MAX / 2 - TENSORS_ALIGN_BYTES) / size)
        return -1;
    return (spec->count * size + TENSORS_ALIGN_BYTES - 1) /
           TENSORS_ALIGN_BYTES * TENSORS_ALIGN_BYTES;
}

static void tensors_add_row(struct tensors *t, struct tensor spec)
{
    int64_t bytes = rounded_bytes(&spec);
    if (bytes < 0 || bytes > INT64_MAX / 2 - t->bytes ||
        (t->n_items == t->n_room && !tensors_grow(t))) {
        t->out_of_room = true;
        return;
    }
    spec.offset_b = t->bytes;
    t->item[t->n_items++] = spec;
    t->bytes += bytes;
}

void *tensors_carve(struct tensors *t, struct tensor spec)
{
    if (!t->base) {
        tensors_add_row(t, spec);
        return NULL;
    }
    assert(t->cursor < t->n_items);
    const struct tensor *row = &t->item[t->cursor++];
    assert(row->count == spec.count && row->elem_bytes == spec.elem_bytes);
    return t->base + row->offset_b;
}

real *tensors_carve_real(struct tensors *t, const char *name, int64_t count)
{
    return tensors_carve(t, (struct tensor){.name = name,
                                            .count = count,
                                            .elem_bytes = sizeof(real),
                                            .id = -1});
}

int *tensors_carve_int(struct tensors *t, const char *name, int64_t count)
{
    return tensors_carve(t, (struct tensor){.name = name,
                                            .count = count,
                                            .elem_bytes = sizeof(int),
                                            .id = -1});
}

enum err tensors_alloc(struct tensors *t, struct err_msg *msg)
{
    size_t bytes = t->bytes ? (size_t)t->bytes : TENSORS_ALIGN_BYTES;
    void *base =
        t->out_of_room ? NULL : aligned_alloc(TENSORS_ALIGN_BYTES, bytes);
    if (!base)
        return err_set(msg, ERR_NOMEM,
                       "%s: no memory for %.1f MiB, use a smaller model, "
                       "micro-batch or sequence",
                       t->kind, (double)t->bytes / (1024.0 * 1024.0));
    // touched here, so that no page is first used, and timed, within a step
    memset(base, 0, bytes);
    t->base = base;
    t->cursor = 0;
    return ERR_OK;
}

void tensors_zero(struct tensors *t)
{
    memset(t->base, 0, (size_t)t->bytes);
}

real *tensors_at(const struct tensors *t, int i)
{
    return (real *)(void *)(t->base + t->item[i].offset_b);
}

/* Four 16-bit uniforms from one draw: their sum is bell-shaped with variance
 * 1/3 (Irwin-Hall), which is normal enough for first values and much faster.
 * Value i does not depend on the others. */
void tensors_normal(real *x, int64_t n, double std, uint64_t key)
{
    const double scale = std * 1.7320508075688772 / 65536.0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = random_mix(key + (uint64_t)i);
        int64_t sum = (int64_t)(r & 0xffff) + (int64_t)(r >> 16 & 0xffff) +
                      (int64_t)(r >> 32 & 0xffff) + (int64_t)(r >> 48);
        x[i] = (real)(scale * ((double)sum - 131070.0));
    }
}

void tensors_randomize(struct tensors *t, uint64_t seed)
{
    for (int i = 0; i < t->n_items; i++) {
        const struct tensor *row = &t->item[i];
        real *x = tensors_at(t, i);
        if (row->id < 0)
            continue;
        if (row->init_std >= 0) {
            tensors_normal(x, row->count, row->init_std,
                           random_mix(seed ^ random_mix((uint64_t)row->id)));
            continue;
        }
        for (int64_t c = 0; c < row->count; c++)
            x[c] = 1;
    }
}
