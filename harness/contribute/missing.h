/*
 * missing: what a contribution does not tell, and what can be computed from it
 * all the same, in sentences for its manifest and its contributor.
 */
#ifndef CONTRIBUTE_MISSING_H
#define CONTRIBUTE_MISSING_H

#include "contribution.h"

/* Why nothing is fitted from the steps of a hybrid model. */
extern const char MISSING_HYBRID_STEPS[];

enum { MISSING_MOST = 16 };

struct missing {
    const char *lacks[MISSING_MOST]; // "timers of every rank: ..."
    int n_lacks;
    const char *gives[MISSING_MOST]; // "step times of other layouts"
    int n_gives;
};

/* Looks at what is there; texts are constant. */
void missing_look(const struct contribution *c, struct missing *out);

#endif
