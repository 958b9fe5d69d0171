/*
 * field: text on its way to words. Each character knows whether it was quoted,
 * since only that tells where words are split and what a pattern's characters
 * mean. Patterns of bash are matched here, too.
 */
#ifndef SCRIPT_FIELD_H
#define SCRIPT_FIELD_H

#include "state.h"

enum bash_quote {
    BASH_Q_LITERAL, // written in the script, without quotes
    BASH_Q_QUOTED,
    BASH_Q_SPLIT, // of an expansion without quotes
    BASH_Q_NULL,  // no character: "" was here
    BASH_Q_BREAK, // no character: a word ends here ("$@")
    BASH_Q_LOOSE  // quoted now; stood without quotes in the list's making
};

/* Characters from..to come of this element. */
struct bash_origin {
    size_t from, to;
    const struct bash_item_of *item;
};

struct bash_field_text {
    char *s;
    unsigned char *q;
    size_t n, cap;
    struct bash_origin *origin;
    size_t n_origins, cap_origins;
};

void bash_field_put(struct bash *sh, struct bash_field_text *to, const char *s,
                    size_t n, enum bash_quote q);
void bash_field_puts(struct bash *sh, struct bash_field_text *to, const char *s,
                     enum bash_quote q);
void bash_field_mark(struct bash *sh, struct bash_field_text *to,
                     enum bash_quote q); // BASH_Q_NULL or BASH_Q_BREAK

/* Notes that the characters from `from` on come of an element. */
void bash_field_origin(struct bash *sh, struct bash_field_text *to, size_t from,
                       const struct bash_item_of *item);

/* Words: elements of a list. */
struct bash_words {
    struct bash_item_of *item;
    size_t n, cap;
};

void bash_words_add(struct bash *sh, struct bash_words *to, const char *text,
                    bool ghost, bool loose);

/* Adds an element as it is, with its place in the script. */
void bash_words_copy(struct bash *sh, struct bash_words *to,
                     const struct bash_item_of *item);

/* Characters of $IFS, never marks; what is not known of it is left out. */
const char *bash_ifs(struct bash *sh);

/* Splits at $IFS and breaks, adds the words. */
void bash_split(struct bash *sh, const struct bash_field_text *from,
                struct bash_words *to);

/* The characters as one text; as a pattern in which quoted characters have a
 * backslash. */
const char *bash_field_text(struct bash *sh, const struct bash_field_text *f);
const char *bash_field_pattern(struct bash *sh,
                               const struct bash_field_text *f);

/* Elements without ghosts, numbered from 0, as an array's value. */
const struct bash_var *bash_list_of(struct bash *sh,
                                    const struct bash_words *words);

/* The array `old` (NULL: none) with the words behind its elements, numbered on
 * from its last. Adding one by one costs no copy of all each time. */
const struct bash_var *bash_list_add(struct bash *sh,
                                     const struct bash_var *old,
                                     const struct bash_words *words);

/* Does the pattern match all of the n bytes? */
bool bash_match(struct bash *sh, const char *pattern, const char *text,
                size_t n);

#endif
