/*
 * doubts: what is wrong with a run beside its iterations: too few micro-batches
 * for its stages, timers that are missing or contradict the step, ranks of one
 * stage that differ, FLOP/s beyond the card's. Each adds findings.
 */
#ifndef DOCTOR_DOUBTS_H
#define DOCTOR_DOUBTS_H

#include "page.h"

/* Of the sizes; nothing where these are not known (d->why). */
void doubts_bubble(struct doctor *d);

/* Of the timers, once d->stages are made of them or were not. */
void doubts_timers(struct doctor *d);

/* Of d->rate. */
void doubts_rate(struct doctor *d);

#endif
