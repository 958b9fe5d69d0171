/*
 * findings: what is wrong with a run, or worth a word, one line each in the
 * order of finding. A finding has a name that programs may look for, and a
 * text that says what was seen and what to do. Sized for some twenty.
 */
#ifndef DOCTOR_FINDINGS_H
#define DOCTOR_FINDINGS_H

#include "base/arena.h"

#include <stdbool.h>

enum { FINDINGS_MAX = 32 };

enum finding_weight {
    FINDING_WRONG, // the run, or what it measures, is not what it should be
    FINDING_NOTE   // to be known by whoever uses its numbers
};

struct finding {
    enum finding_weight weight;
    const char *name, *text;
};

struct findings {
    struct arena *arena; // owner of the texts
    struct finding item[FINDINGS_MAX];
    int n;
    bool failed; // out of memory
};

/* Adds one, of the first FINDINGS_MAX; `name` is a constant text. */
void findings_add(struct findings *f, enum finding_weight weight,
                  const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Is there one of that name? */
bool findings_has(const struct findings *f, const char *name);

/* "wrong", "note". */
const char *finding_weight_name(enum finding_weight w);

#endif
