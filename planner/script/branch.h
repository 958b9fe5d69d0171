/*
 * branch: what is not known and decides something. A question is such a thing
 * at its place; within one way it has one answer. Sides of a question are read
 * each on a copy of the state: where no call is made and all go on alike, the
 * states are merged, and the question is asked only when a value that hangs on
 * it is read. Where it matters, ways part: the script is read again with the
 * other answer (bash.c).
 */
#ifndef SCRIPT_BRANCH_H
#define SCRIPT_BRANCH_H

#include "core.h"

/* A question; of `keep`, since ways share it. */
struct bash_question {
    const char *key, *text, *file;
    int line;
    int n_sides; // 0: it holds, 1: it does not; more of a case
    int way;     // in which it was answered, 0: none
    int answer;
    struct bash_question *next;
};

/* The answers of a way, in the order asked, and what the next way begins with.
 */
struct bash_oracle {
    struct bash_question *questions;
    int way; // counts from 1
    struct bash_question **asked;
    int *answer;
    size_t n, cap, n_given;
    struct bash_question *flipped; // one at a time: this one answers flip_to
    int flip_to;
    bool alone;
    jmp_buf *probe; // where a probe is left; NULL outside
};

/* The question of that key; made when it is new. Texts are copied. */
struct bash_question *bash_ask(struct bash *sh, const char *key,
                               const char *text, int n_sides);

/* Its answer in this way. Leaves a probe when it has none yet. */
int bash_decide(struct bash *sh, struct bash_question *q);

/* Must be called before something is done that cannot be merged: leaves the
 * probe, if there is one. */
void bash_matters(struct bash *sh);

typedef void bash_side_fn(struct bash *sh, const void *arg, int side);

/* Reads the sides of the question, or the one of its answer. */
void bash_branch(struct bash *sh, struct bash_question *q, bash_side_fn *fn,
                 const void *arg);

/* The current status as a condition: fn(0) when it holds, fn(1) when not, by
 * way of bash_branch() when it is not known. */
void bash_on_status(struct bash *sh, bash_side_fn *fn, const void *arg);

/* Makes the status the answer to a question. */
void bash_doubt(struct bash *sh, const char *key, const char *text);

#endif
