/*
 * field: names and values of a log's fields, whoever prints them: a name is
 * compared by its letters and digits alone, so that blanks, underscores and
 * a line's wrap do not matter; a value is a number with thousands commas, K, M,
 * G or T, and a unit. What is not wholly understood is said to be so, for a
 * part of a number is a wrong number.
 */
#ifndef LOG_FIELD_H
#define LOG_FIELD_H

#include "line.h"

#include <stdbool.h>
#include <stddef.h>

/* A name's letters and digits in lower case, cut after FIELD_NAME - 1. */
enum { FIELD_NAME = 64 };
struct log_name {
    char text[FIELD_NAME];
};

struct log_name logfield_name(struct log_text name);

/* How a value is written. */
enum field_unit {
    FIELD_PLAIN,   // a number alone
    FIELD_TIME,    // ms, where no unit is printed: of the name
    FIELD_SECONDS, // the same, s
    FIELD_UNSAID,  // a time whose unit only the value can tell
    FIELD_FLOPS,   // TFLOP/s, where no unit is printed
    FIELD_COUNT    // an integer of 0 or more
};

/* The value as a number, times in ms, throughput in TFLOP/s. False when any of
 * the text is not understood; of "instant/mean" and "a (avg b)" it is the first
 * that counts. NaN and infinities are numbers. */
bool logfield_value(struct log_text value, enum field_unit unit, double *out);

/* Takes a number with thousands commas and K, M, G or T off `t`; a letter after
 * the suffix makes it no suffix. */
bool logfield_take(struct log_text *t, double *out);

/* Takes an integer off `t`, with or without thousands commas. */
bool logfield_take_int(struct log_text *t, int64_t *out);

/* Takes the next field off `rest`: "name: value |", "name=value", fields with
 * commas or blanks between them where there are no bars. Text without a colon
 * or equals sign is passed over. False at the end. */
bool logfield_next(struct log_text *rest, struct log_field *out);

/* Takes the next "'key': value" of a Python dict or a JSON object off `rest`,
 * without quotes. False at the end. */
bool logfield_next_of_dict(struct log_text *rest, struct log_field *out);

#endif
