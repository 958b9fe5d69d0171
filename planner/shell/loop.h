/*
 * loop: while, until, for and select.
 */
#ifndef SHELL_LOOP_H
#define SHELL_LOOP_H

#include "arith.h"
#include "eval.h"

void bash_eval_while(struct bash *sh, const struct bash_node *n); // and until
void bash_eval_for(struct bash *sh, const struct bash_node *n);   // and select
void bash_eval_for_math(struct bash *sh, const struct bash_node *n);

/* The value of an expression as written. */
struct bash_number bash_eval_number(struct bash *sh, struct bash_raw w);

#endif
