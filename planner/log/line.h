/*
 * line: the text of one log line, before anything is known of its meaning:
 * launchers' prefixes, terminal colours, numbers, `name: value` fields. Works
 * on bytes of any encoding; nothing here allocates or needs a terminator.
 */
#ifndef LOG_LINE_H
#define LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_text {
    const char *p;
    size_t n;
};

/* Copies `line` without escape sequences to `buf` (line.n bytes or more) and
 * returns the number of bytes kept. */
size_t logline_strip_ansi(struct log_text line, char *buf);

/* First place of `word`, or NULL. */
const char *logline_find(struct log_text t, const char *word);

/* The rest of `t` from `at`, which points into it. */
struct log_text logline_from(struct log_text t, const char *at);

bool logline_starts(struct log_text t, const char *word);
bool logline_equals(struct log_text t, const char *word);

/* Without blanks and markdown's asterisks at both ends. */
struct log_text logline_trim(struct log_text t);

/* Takes leading blanks, or one leading unsigned integer of at most 18 digits,
 * off `t`; the integer is written only on success. */
void logline_skip_blanks(struct log_text *t);
bool logline_take_int(struct log_text *t, int64_t *out);

/* Takes a leading number off `t`, "nan" and "inf" among them. */
bool logline_take_number(struct log_text *t, double *out);

/* The finite number that follows the first `word` of `t`. */
bool logline_number_after(struct log_text t, const char *word, double *out);

/* Takes a timer's name, [A-Za-z0-9/_-]+, off `t`. */
struct log_text logline_take_name(struct log_text *t);

struct log_field {
    struct log_text name, value;
    bool ended; // a bar follows: the value is whole
};

/* Takes the next field of "name: value | name: value |" off `rest`; text
 * without a colon is passed over. False at the end. */
bool logline_next_field(struct log_text *rest, struct log_field *out);

#endif
