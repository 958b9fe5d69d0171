/*
 * operator: what stands behind the name in ${NAME...}: defaults, cutting,
 * replacing, case, slices.
 */
#ifndef SHELL_OPERATOR_H
#define SHELL_OPERATOR_H

#include "expand.h"

/* The pieces of ${NAME[INDEX]OP} and what NAME holds. */
struct bash_param_of {
    struct bash *sh;
    const char *name, *index; // index: NULL, "@", "*", or an expression
    const char *op;           // the operator and its words; "" for none
    const char *shown;
    bool quoted;
    bool list, star;
    enum bash_known set;
    struct bash_words value;
};

/* - = ? + with or without ':'; false where the operator is none of these. */
bool bash_param_default(struct bash_param_of *p, struct bash_param_use *use,
                        struct bash_field_text *to);

/* :offset:length on a text, on a list. */
void bash_op_slice_text(struct bash_param_of *p, struct bash_words *out);
void bash_op_slice_list(struct bash_param_of *p, struct bash_words *out);

/* Any other operator on one element's text. */
const char *bash_op_text(struct bash_param_of *p, const char *text);

/* Characters of a text. */
int64_t bash_utf8_len(const char *s);

/* ---- of param.c ---- */

/* Puts elements out as the quotes around the parameter want it. */
void bash_param_emit(struct bash_param_of *p, const struct bash_words *w,
                     struct bash_param_use *use, struct bash_field_text *to);

/* The index as a key. */
const char *bash_param_key(struct bash_param_of *p);

#endif
