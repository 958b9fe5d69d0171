/*
 * Probing: assume that a stage begins in one end of its range, or that its
 * chunk is one of its shortest or longest, and let the relaxation look for a
 * contradiction. The part that is assumed shrinks until it cannot be refuted.
 */
#include "proof.h"

/* Whether a layout within the limit may have the stage begin at from..to. */
static bool proof_refutes(struct proof *p, const struct live *l, int stage,
                          int from, int to)
{
    struct live *child = &p->spare[0];
    live_copy(child, l);
    return !live_keep(child, stage, from, to) ||
           proof_relax(p, child) == PROOF_REFUTED;
}

/* The same for how many positions its chunk spans. */
static bool proof_refutes_length(struct proof *p, const struct live *l,
                                 int stage, int from, int to)
{
    struct live *child = &p->spare[0];
    live_copy(child, l);
    return !live_keep_lengths(child, stage, from, to) ||
           proof_relax(p, child) == PROOF_REFUTED;
}

/* From one end: half of the live positions, a quarter, ... one; what is refuted
 * goes. */
static enum proof_end proof_probe_end(struct proof *p, struct live *l,
                                      int stage, bool low)
{
    int n = live_count(l, stage);
    for (int part = n / 2; part >= 1 && !p->stopped; part /= 2) {
        n = live_count(l, stage);
        if (part >= n)
            continue;
        int from = low ? live_first(l, stage) : live_nth(l, stage, n - part);
        int to = low ? live_nth(l, stage, part - 1) : live_last(l, stage);
        if (!proof_refutes(p, l, stage, from, to))
            continue;
        if (p->stopped)
            return PROOF_OPEN;
        if (!live_drop(l, stage, from, to))
            return PROOF_REFUTED;
        part *= 2; // the same size again
    }
    return PROOF_OPEN;
}

/* The same for lengths of the chunk. */
static enum proof_end proof_probe_length(struct proof *p, struct live *l,
                                         int stage, bool low)
{
    int fewest, most;
    live_lengths(l, stage, &fewest, &most);
    for (int part = (most - fewest + 1) / 2; part >= 1 && !p->stopped;) {
        int from = low ? fewest : most - part + 1, to = from + part - 1;
        if (!proof_refutes_length(p, l, stage, from, to)) {
            part /= 2;
            continue;
        }
        if (p->stopped)
            return PROOF_OPEN;
        if (!live_drop_lengths(l, stage, from, to))
            return PROOF_REFUTED;
        live_lengths(l, stage, &fewest, &most);
        if (part > most - fewest)
            part = (most - fewest + 1) / 2;
    }
    return PROOF_OPEN;
}

static enum proof_end proof_probe_pass(struct proof *p, struct live *l)
{
    if (proof_probe_loads(p, l) == PROOF_REFUTED)
        return PROOF_REFUTED;
    for (int s = 1; s < l->n_stages && !p->stopped; s++)
        for (int low = 0; low < 2; low++)
            if (proof_probe_end(p, l, s, low) == PROOF_REFUTED ||
                proof_probe_length(p, l, s, low) == PROOF_REFUTED)
                return PROOF_REFUTED;
    return PROOF_OPEN;
}

enum proof_end proof_probe(struct proof *p, struct live *l, int passes)
{
    for (int pass = 0; pass < passes && !p->stopped; pass++) {
        int before = live_arcs(l);
        if (proof_probe_pass(p, l) == PROOF_REFUTED)
            return PROOF_REFUTED;
        if (proof_relax(p, l) == PROOF_REFUTED)
            return PROOF_REFUTED;
        if (live_arcs(l) * 10 > before * 9)
            break;
    }
    return PROOF_OPEN;
}
