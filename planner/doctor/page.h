/*
 * page: what is said of one log, and how it is printed: a page for people, or
 * the same parts as JSON. Anything that is not known is NAN, NULL or 0, and a
 * reason stands beside it.
 */
#ifndef DOCTOR_PAGE_H
#define DOCTOR_PAGE_H

#include "advice.h"
#include "base/writer.h"
#include "rate.h"
#include "stages.h"
#include "steps.h"

#include <stdio.h>

enum { DOCTOR_PROFILES = 2 };

/* Everything of one log. Not to be copied: price points into itself. */
struct doctor {
    const char *path;
    struct runlog log;
    struct steps steps;
    struct findings findings;
    const struct model *model; // NULL: not known
    const char *command;       // its source and sizes, for commands
    const char *why;           // no layout can be advised; or NULL
    struct fit_run run;
    const char *layout; // of the run, or NULL
    bool timers;        // per rank, and usable
    struct stages stages;
    struct rate rate;
    struct price price;                   // where `why` is NULL
    struct advice advice;                 // the same
    const char *profile[DOCTOR_PROFILES]; // layouts to run, or NULL
    const char *drop; // flags that Megatron refuses beside a layout, or ""
};

void page_print(const struct doctor *d, FILE *out);

/* Members of the JSON answer, moe-layout/doctor/1. */
void page_write(const struct doctor *d, struct writer top);

#endif
