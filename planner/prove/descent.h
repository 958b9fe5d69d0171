/*
 * descent: good layouts quickly. Steepest descent over moves that shift a run
 * of neighbouring cuts by one position, from several starts; with a memory
 * limit the excess over it goes down first. Finds what the proof then confirms;
 * promises nothing.
 */
#ifndef PROVE_DESCENT_H
#define PROVE_DESCENT_H

#include "proof.h"

/* Descends from a few even layouts and `n_random` disturbed ones; all that is
 * seen goes into the proof's best list. `l`: the graph of the whole space. */
enum err descent_run(struct proof *p, const struct live *l, int n_random,
                     struct err_msg *msg);

#endif
