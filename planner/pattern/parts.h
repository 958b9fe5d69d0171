/*
 * parts: the text of a hybrid pattern cut at slashes and bars, nothing copied
 * and nothing judged; and the segments of a pattern that was judged. For
 * pattern. Linear in the length of the text.
 */
#ifndef PATTERN_PARTS_H
#define PATTERN_PARTS_H

#include "pattern.h"

#include <stdbool.h>
#include <stddef.h>

/* Every layer of the newest version, in the order of its symbols' table. */
#define PATTERN_ALL_SYMBOLS "MG*D+-E"

/* A span of the text. */
struct pattern_part {
    const char *p;
    size_t len;
};

struct pattern_parts {
    struct pattern_part main; // with its bars
    struct pattern_part mtp;  // the first part behind a slash
    int n_segments;           // bars of main and one
    int n_layers;             // characters of main that are no bars
    int n_depths;             // parts behind slashes; 0 when all are empty
    const char *differ;       // the first one that differs from mtp, or NULL
};

/* Cuts any text and refuses none: whether the characters are layers is asked
 * below. The parts point into the text. */
void parts_read(const char *text, struct pattern_parts *out);

/* Place in the part of the first character that is no layer; its length when
 * there is none. Bars are let pass where the part may have them. */
size_t part_stranger(const struct pattern_part *part, const char *symbols,
                     bool bars);

/* Do * and + or D stand in it? The place of the second sort, or the length. */
bool part_mixes(const struct pattern_part *part);
size_t part_first_mixed(const struct pattern_part *part);

/* The part without its bars, a copy; NULL when out of memory. */
char *part_without_bars(struct arena *a, const struct pattern_part *part);

/* Fills vpp, segments, offsets, main, mtp and covers of the pattern, whose
 * other members are set, as Megatron cuts it: at bars, else by the flags of
 * the ends, else evenly. False when out of memory. */
bool parts_segments(struct arena *a, const struct pattern_parts *parts,
                    const struct pattern_flags *f, struct pattern *out);

#endif
