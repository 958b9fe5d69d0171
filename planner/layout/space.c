/*
 * How it works: counts are sums of binomial coefficients: placing n alike
 * things in a row on s stages is choosing n of n + s - 1, or with no stage
 * empty, s - 1 of n - 1. They are computed exactly in 128 bits. The walk fills
 * one stage after the other and calls back at the last one; only layouts with E
 * first and m and L at the end are walked.
 */
#include "space.h"

#include <string.h>

/* ---- counting ---- */

// up to 3.4e38: 61 layers have 3e36 layouts on 65 stages
__extension__ typedef unsigned __int128 wide;

/* Sums and products that remember an overflow. */
struct counter {
    wide value;
    bool overflow;
};

static wide space_multiply(wide x, wide y, bool *overflow)
{
    if (y && x > ~(wide)0 / y)
        *overflow = true;
    return x * y;
}

/* Euclid's; called with one small number, so it ends after a few steps. */
static wide space_gcd(wide x, wide y)
{
    while (y) {
        wide rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* n over k. Before each product the common factor goes, so that the value
 * overflows only when the result does. */
static wide space_choose(long n, long k, bool *overflow)
{
    if (k < 0 || n < k)
        return 0;
    if (k > n - k)
        k = n - k;
    wide c = 1;
    for (long i = 1; i <= k && !*overflow; i++) {
        wide up = (wide)(n - k + i), down = (wide)i;
        wide g = space_gcd(up, down);
        up /= g;
        down /= g;
        c = space_multiply(c / down, up,
                           overflow); // down divides c: it is coprime
                                      // to up, and c*up/down is whole
    }
    return c;
}

/* Overflow is remembered and not returned: the sum goes on, and the caller asks
 * once at the end. */
static void space_add(struct counter *sum, wide x, wide times)
{
    wide product = space_multiply(x, times, &sum->overflow);
    if (product > ~(wide)0 - sum->value)
        sum->overflow = true;
    sum->value += product;
}

/* Without MTP: E, the layers and L in weakly or strictly increasing stages. */
static void count_plain(const struct layout_space *s, long stages,
                        struct counter *sum)
{
    long n = s->n_layers;
    bool *over = &sum->overflow;
    switch (s->kind) {
    case SPACE_NO_EMPTY_STAGE:
        space_add(sum, space_choose(n + 1, stages - 1, over), 1);
        break;
    case SPACE_EMPTY_STAGES:
        space_add(sum, space_choose(n + stages - 1, n, over), 1);
        break;
    case SPACE_ANY:
        space_add(sum, space_choose(n + 2 + stages - 1, n + 2, over), 1);
        break;
    }
}

/* With MTP: all m in one stage of the last chunk (M_NOT_LAST_VPP and M_SPLIT of
 * Megatron's checks); for each such stage, the ways to place what is before it
 * times the ways to place L. */
static void count_mtp(const struct layout_space *s, long stages,
                      struct counter *sum)
{
    long n = s->n_layers;
    bool *over = &sum->overflow;
    for (long at = stages - s->pp; at < stages; at++) {
        switch (s->kind) {
        case SPACE_NO_EMPTY_STAGE: // L with m in the last stage, or after it
            if (at >= stages - 2)
                space_add(sum, space_choose(n + 1, at, over), 1);
            break;
        case SPACE_EMPTY_STAGES:
            space_add(sum, space_choose(n + at, n, over), 1);
            break;
        case SPACE_ANY:
            space_add(sum, space_choose(n + 1 + at, n + 1, over),
                      (wide)(stages - at));
            break;
        }
    }
}

/* printf() has no conversion for 128 bits; digits come out last first. */
static void to_decimal(wide v, char text[SPACE_COUNT_BYTES])
{
    char digits[SPACE_COUNT_BYTES];
    int n = 0;
    do {
        digits[n++] = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v);
    for (int i = 0; i < n; i++)
        text[i] = digits[n - 1 - i];
    text[n] = '\0';
}

enum err layout_space_count(const struct layout_space *space,
                            char text[SPACE_COUNT_BYTES], struct err_msg *msg)
{
    if (space->n_layers < 1 || space->n_mtp < 0 || space->pp < 1 ||
        space->vpp < 1)
        return err_set(msg, ERR_RANGE,
                       "count: want layers, pipeline size and virtual size "
                       "of at least 1, MTP layers of at least 0");
    struct counter sum = {0};
    long stages = (long)space->pp * space->vpp;
    if (space->n_mtp)
        count_mtp(space, stages, &sum);
    else
        count_plain(space, stages, &sum);
    if (sum.overflow)
        return err_set(msg, ERR_RANGE,
                       "count: more than 3.4e38 layouts, want a smaller space");
    to_decimal(sum.value, text);
    return ERR_OK;
}

/* ---- walking ---- */

struct walk {
    const struct layout_space *space;
    struct layout layout;
    char **buffers; // the stages' strings
    layout_visit visit;
    void *data;
};

/* Writes one stage: E?, `n` layers, then m and L as asked. */
static void space_write_stage(struct walk *w, int stage, int n_layers, bool mtp,
                              bool loss)
{
    char *p = w->buffers[stage];
    if (stage == 0)
        *p++ = 'E';
    memset(p, 't', (size_t)n_layers);
    p += n_layers;
    if (mtp) {
        memset(p, 'm', (size_t)w->space->n_mtp);
        p += w->space->n_mtp;
    }
    if (loss)
        *p++ = 'L';
    *p = '\0';
}

/* Stages after the one that holds m: empty, L alone in the last one. */
static enum err space_finish(struct walk *w, int mtp_stage)
{
    for (int s = mtp_stage + 1; s < w->space->pp; s++)
        space_write_stage(w, s, 0, false, s == w->space->pp - 1);
    return w->visit(w->data, &w->layout);
}

/* Whether m may stand in this stage: the last one always, others only when m
 * may be apart from L. */
static bool may_end_here(const struct walk *w, int stage)
{
    const struct layout_space *s = w->space;
    if (stage == s->pp - 1)
        return true;
    if (!s->n_mtp || !s->standalone_mtp)
        return false;
    return s->kind == SPACE_EMPTY_STAGES || stage == s->pp - 2;
}

/* Layers that the stages behind this one take at least, where this one is not
 * the end: the last stage has L, and m apart from L is one more that needs no
 * layer. Without this a walk near a layer a stage would mostly come to nothing,
 * and the time double with each stage. */
static int space_least_behind(const struct layout_space *s, int stage)
{
    const bool apart = s->n_mtp && s->standalone_mtp;
    const int behind = s->pp - (apart ? 3 : 2) - stage;
    return s->kind == SPACE_NO_EMPTY_STAGE && behind > 0 ? behind : 0;
}

/* Fills `stage` and all after it with `left` layers. Depth is the number of
 * stages. */
static enum err walk_stage(struct walk *w, int stage, int left)
{
    const struct layout_space *s = w->space;
    const bool last = stage == s->pp - 1;
    enum err e = ERR_OK;
    if (may_end_here(w, stage)) {
        space_write_stage(w, stage, left, s->n_mtp > 0, last);
        e = space_finish(w, stage);
    }
    if (last || e != ERR_OK)
        return e;
    // the first stage is never empty: it has E
    int least = s->kind == SPACE_NO_EMPTY_STAGE && stage > 0;
    int most = left - space_least_behind(s, stage);
    for (int n = least; n <= most && e == ERR_OK; n++) {
        space_write_stage(w, stage, n, false, false);
        e = walk_stage(w, stage + 1, left - n);
    }
    return e;
}

enum err layout_space_each(struct arena *a, const struct layout_space *space,
                           layout_visit visit, void *data, struct err_msg *msg)
{
    if (space->vpp != 1 || space->kind == SPACE_ANY)
        return err_set(msg, ERR_RANGE,
                       "search: only one chunk a rank, with E first and L "
                       "last, can be enumerated");
    size_t n = (size_t)space->pp;
    size_t bytes = (size_t)(space->n_layers + space->n_mtp) + 3;
    struct walk w = {.space = space,
                     .layout = {space->pp, 1, space->pp, NULL},
                     .visit = visit,
                     .data = data};
    w.buffers = arena_alloc(a, n, sizeof *w.buffers);
    w.layout.units = arena_alloc(a, n, sizeof *w.layout.units);
    char *text = arena_alloc(a, n, bytes);
    if (!w.buffers || !w.layout.units || !text)
        return err_set(msg, ERR_NOMEM, "search: out of memory");
    for (size_t s = 0; s < n; s++)
        w.layout.units[s] = w.buffers[s] = text + s * bytes;
    return walk_stage(&w, 0, space->n_layers);
}
