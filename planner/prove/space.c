/*
 * How it works. The rules are turned into ranges of each cut once: E in stage
 * 0, L in the last stage, MTP in one of the last chunks, a least number of
 * units; units that may not be parted become one step. Whatever is left to
 * check of a single chunk is its memory and the caller's own rule.
 */
#include "space.h"

#include <string.h>

// 120 digits: 254 units on 128 stages, empty ones too, are 10^105 layouts
enum { SPACE_COUNT_LIMBS = 10 };
static const int64_t SPACE_COUNT_BASE =
    1000000000000; // limbs print as 12 digits

/* ---- positions ---- */

/* Number of units that the step after position `pos` takes. */
static int space_step(const struct prove_problem *p, int unit)
{
    int first_mtp = p->n_units - 1 - p->n_mtp;
    if (p->n_mtp == 0 || unit != first_mtp)
        return 1;
    return p->standalone_mtp ? p->n_mtp : p->n_mtp + 1;
}

static void space_positions(struct space *sp, int *unit)
{
    const struct prove_problem *p = sp->problem;
    sp->n_pos = 0;
    for (int u = 0; u < p->n_units; u += space_step(p, u))
        unit[sp->n_pos++] = u;
    unit[sp->n_pos++] = p->n_units;
    sp->unit = unit;
}

/* The rules as ranges of each cut: E is in stage 0, L in the last; MTP on its
 * own is in one of the last pp chunks. */
static void space_ranges(struct space *sp)
{
    int last = sp->n_pos - 1, s_max = sp->n_stages, least = sp->least_units;
    for (int s = 0; s <= s_max; s++) {
        sp->lo[s] = s == 0 ? 0 : least * (s - 1) + 1;
        sp->hi[s] = s == s_max ? last : last - 1 - least * (s_max - 1 - s);
    }
    if (s_max == 1)
        sp->lo[1] = last;
    sp->hi[0] = 0;
    sp->lo[s_max] = last;
    const struct prove_problem *p = sp->problem;
    int first = s_max - sp->pp;
    if (p->n_mtp && p->standalone_mtp)
        for (int s = 1; s <= first; s++)
            if (sp->hi[s] > last - 2 - least * (first - s))
                sp->hi[s] = last - 2 - least * (first - s);
}

/* ---- sums ---- */

/* Most that a layer can save in either role: against a layer of either kind.
 * Where all layers are MoE, only one pairing exists. */
static int64_t space_unit_saving(const struct space *sp, int unit, bool forward)
{
    const struct prove_saving *s = sp->problem->saving;
    if (!s || !sp->problem->order.ep_overlap ||
        s->kinds[unit] == PROVE_NO_LAYER)
        return 0;
    if (s->kinds[unit] == PROVE_DENSE) // its partner may be MoE
        return !sp->mixed_kinds ? 0 : forward ? s->bwd_ns : s->fwd_ns;
    int64_t other = forward ? s->fwd_ns : s->bwd_ns;
    return sp->mixed_kinds && other > s->both_ns ? other : s->both_ns;
}

static int64_t space_unit_value(const struct space *sp, int unit,
                                enum space_sum which)
{
    const struct prove_problem *p = sp->problem;
    bool part = p->order.ep_overlap && !p->whole_operations &&
                (unit == 0 || unit == p->n_units - 1);
    switch (which) {
    case SPACE_FWD:
        return p->fwd_ns[unit];
    case SPACE_BWD:
        return p->bwd_ns[unit];
    case SPACE_PART_FWD:
        return part ? p->fwd_ns[unit] : 0;
    case SPACE_PART_BWD:
        return part ? p->bwd_ns[unit] : 0;
    case SPACE_SAVE_FWD:
        return -space_unit_saving(sp, unit, true);
    default:
        return -space_unit_saving(sp, unit, false);
    }
}

static enum err space_sums(struct arena *a, struct space *sp,
                           struct err_msg *msg)
{
    for (int w = 0; w < SPACE_N_SUMS; w++) {
        int64_t *sum = arena_alloc(a, (size_t)sp->n_pos, sizeof *sum);
        if (!sum)
            return err_set(msg, ERR_NOMEM, "layout space: out of memory");
        for (int i = 1; i < sp->n_pos; i++) {
            sum[i] = sum[i - 1];
            for (int u = sp->unit[i - 1]; u < sp->unit[i]; u++)
                sum[i] += space_unit_value(sp, u, (enum space_sum)w);
        }
        sp->sum[w] = sum;
    }
    return ERR_OK;
}

/* Layers of both kinds: then what a pair saves depends on which layers meet,
 * and the sums are only a bound. */
static bool space_mixed(const struct prove_problem *p)
{
    bool seen[PROVE_MOE + 1] = {false};
    for (int u = 0; p->saving && u < p->n_units; u++)
        seen[p->saving->kinds[u]] = true;
    return seen[PROVE_DENSE] && seen[PROVE_MOE] && p->order.ep_overlap;
}

/* ---- memory ---- */

/* Asked once for each chunk: callers may take their time. */
static enum err space_memory(struct arena *a, struct space *sp,
                             struct err_msg *msg)
{
    const struct prove_memory *m = sp->problem->memory;
    if (!m || !m->chunk_bytes)
        return ERR_OK;
    size_t side = (size_t)sp->n_pos;
    int64_t *bytes =
        arena_alloc(a, (size_t)sp->n_stages * side * side, sizeof *bytes);
    if (!bytes)
        return err_set(msg, ERR_NOMEM, "layout space: out of memory");
    sp->bytes = bytes;
    sp->limit_bytes = m->limit_bytes;
    for (int s = 0; s < sp->n_stages; s++)
        for (int from = sp->lo[s]; from <= sp->hi[s]; from++)
            for (int to = from; to < sp->n_pos; to++)
                bytes[((size_t)s * side + (size_t)from) * side + (size_t)to] =
                    m->chunk_bytes(m->data, s, sp->unit[from], sp->unit[to]);
    return ERR_OK;
}

int64_t space_bytes(const struct space *sp, int stage, int from, int to)
{
    size_t side = (size_t)sp->n_pos;
    if (!sp->bytes)
        return 0;
    return sp->bytes[((size_t)stage * side + (size_t)from) * side + (size_t)to];
}

/* ---- the space ---- */

enum err space_init(struct arena *a, const struct prove_problem *problem,
                    struct space *out, struct err_msg *msg)
{
    int n_stages = problem->order.pp * problem->order.vpp;
    *out = (struct space){.problem = problem,
                          .n_stages = n_stages,
                          .pp = problem->order.pp,
                          .least_units = problem->empty_stages ? 0 : 1,
                          .mixed_kinds = space_mixed(problem)};
    int *unit = arena_alloc(a, (size_t)problem->n_units + 1, sizeof *unit);
    out->lo = arena_alloc(a, (size_t)n_stages + 1, sizeof *out->lo);
    out->hi = arena_alloc(a, (size_t)n_stages + 1, sizeof *out->hi);
    if (!unit || !out->lo || !out->hi)
        return err_set(msg, ERR_NOMEM, "layout space: out of memory");
    space_positions(out, unit);
    space_ranges(out);
    enum err e = space_sums(a, out, msg);
    return e == ERR_OK ? space_memory(a, out, msg) : e;
}

/* By the rules alone. */
static bool space_regular(const struct space *sp, int stage, int from, int to)
{
    return from >= sp->lo[stage] && from <= sp->hi[stage] &&
           to >= sp->lo[stage + 1] && to <= sp->hi[stage + 1] &&
           to - from >= sp->least_units;
}

bool space_allows(const struct space *sp, int stage, int from, int to)
{
    const struct prove_problem *p = sp->problem;
    if (!space_regular(sp, stage, from, to))
        return false;
    if (sp->bytes && space_bytes(sp, stage, from, to) > sp->limit_bytes)
        return false;
    return !p->allowed ||
           p->allowed(p->allowed_data, stage, sp->unit[from], sp->unit[to]);
}

/* ---- counting: decimal limbs, as spaces pass 2^64 ---- */

struct count {
    int64_t limb[SPACE_COUNT_LIMBS];
};

static void space_count_add(struct count *to, const struct count *more)
{
    int64_t carry = 0;
    for (int i = 0; i < SPACE_COUNT_LIMBS; i++) {
        int64_t sum = to->limb[i] + more->limb[i] + carry;
        carry = sum / SPACE_COUNT_BASE;
        to->limb[i] = sum - carry * SPACE_COUNT_BASE;
    }
}

static double space_count_print(const struct count *c,
                                char digits[PROVE_DIGITS])
{
    char text[SPACE_COUNT_LIMBS * 12 + 1];
    int used = 0;
    for (int i = SPACE_COUNT_LIMBS - 1; i >= 0; i--) {
        int64_t rest = c->limb[i];
        for (int64_t unit = SPACE_COUNT_BASE / 10; unit; unit /= 10) {
            text[used++] = (char)('0' + rest / unit % 10);
        }
    }
    text[used] = '\0';
    size_t zeros = strspn(text, "0");
    zeros = zeros == (size_t)used ? zeros - 1 : zeros;
    memcpy(digits, text + zeros, (size_t)used - zeros + 1);
    double n = 0;
    for (int i = SPACE_COUNT_LIMBS - 1; i >= 0; i--)
        n = n * (double)SPACE_COUNT_BASE + (double)c->limb[i];
    return n;
}

/* One stage after the other: number of ways to each position. */
double space_count(const struct space *sp, char digits[PROVE_DIGITS])
{
    struct count now[PROVE_MAX_UNITS + 2] = {{{0}}};
    now[0].limb[0] = 1;
    for (int s = 0; s < sp->n_stages; s++) {
        struct count next[PROVE_MAX_UNITS + 2] = {{{0}}};
        for (int from = sp->lo[s]; from <= sp->hi[s]; from++)
            for (int to = from; to < sp->n_pos; to++)
                if (space_regular(sp, s, from, to))
                    space_count_add(&next[to], &now[from]);
        memcpy(now, next, sizeof now);
    }
    return space_count_print(&now[sp->n_pos - 1], digits);
}

void space_units(const struct space *sp, const int *pos, int *cuts)
{
    for (int s = 0; s <= sp->n_stages; s++)
        cuts[s] = sp->unit[pos[s]];
}

/* ---- what a combined operation saves ---- */

static int64_t space_pair(const struct prove_saving *s, enum prove_kind fwd,
                          enum prove_kind bwd)
{
    if (fwd == PROVE_MOE)
        return bwd == PROVE_MOE ? s->both_ns : s->fwd_ns;
    return bwd == PROVE_MOE ? s->bwd_ns : 0;
}

/* The forward's layers from the first, the backward's from the last, as many
 * pairs as the shorter has (combined 1F1B pairs layer k with L-1-k). */
static int64_t space_walk_pairs(const struct space *sp, const int *fwd,
                                const int *bwd)
{
    const struct prove_saving *s = sp->problem->saving;
    int f = sp->unit[fwd[0]], f_end = sp->unit[fwd[1]];
    int b = sp->unit[bwd[1]] - 1, b_end = sp->unit[bwd[0]];
    int64_t saved = 0;
    while (true) {
        while (f < f_end && s->kinds[f] == PROVE_NO_LAYER)
            f++;
        while (b >= b_end && s->kinds[b] == PROVE_NO_LAYER)
            b--;
        if (f >= f_end || b < b_end)
            return saved;
        saved += space_pair(s, s->kinds[f++], s->kinds[b--]);
    }
}

int64_t space_saving(const struct space *sp, const int *fwd, const int *bwd)
{
    if (!sp->problem->saving)
        return 0;
    if (sp->mixed_kinds)
        return space_walk_pairs(sp, fwd, bwd);
    int64_t f =
        sp->sum[SPACE_SAVE_FWD][fwd[0]] - sp->sum[SPACE_SAVE_FWD][fwd[1]];
    int64_t b =
        sp->sum[SPACE_SAVE_BWD][bwd[0]] - sp->sum[SPACE_SAVE_BWD][bwd[1]];
    return f < b ? f : b;
}
